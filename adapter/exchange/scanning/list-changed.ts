/** Whether a message says that a list has changed. */
export const saysListChanged = (text: string): boolean => text.includes('list_changed');
