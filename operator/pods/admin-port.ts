/** Of 127.0.0.1 in pods; the first of those from here on that their program does not listen on itself. */
export const ADMIN_PORT = 8933;
