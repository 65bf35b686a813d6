import type { Socket } from 'node:net';

/**
 * Keeps a connection unread, also where something else wants to read on: requests whose body is read, or dropped, resume
 * their socket. It is read on only after the returned function was called.
 */
export function holdSocket(socket: Socket): () => void {
  const hold = (): void => void socket.pause();
  socket.on('resume', hold);
  hold();
  return () => void socket.off('resume', hold);
}

const heldForTurn = new Set<Socket>();

/** The same until the next turn of the event loop. A paused request would read on up to what its stream may keep. */
export function holdForTurn(socket: Socket): void {
  if (heldForTurn.has(socket)) return;
  heldForTurn.add(socket);
  const release = holdSocket(socket);
  setImmediate(() => {
    heldForTurn.delete(socket);
    release();
    socket.resume();
  });
}
