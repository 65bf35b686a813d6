import { Server } from 'node:net';

/**
 * Loaded before a server's own program (`node --import`). Some servers let nobody choose the address and listen on
 * all of them; here they listen on 127.0.0.1 and say on stdout which port they got, so that port 0 can be used. Those that
 * let nobody choose the port either take the one in LISTEN_PORT. They work in WORKING_FOLDER where that is set.
 */
const folder = process.env['WORKING_FOLDER'];
if (folder !== undefined) process.chdir(folder);

const listen = Reflect.get(Server.prototype, 'listen') as (this: Server, ...args: unknown[]) => Server;

Server.prototype.listen = function listenOnLoopback(this: Server, ...args: unknown[]): Server {
  this.once('listening', () => {
    const address = this.address();
    if (typeof address === 'object' && address !== null) process.stdout.write(`listening on port ${address.port}\n`);
  });
  const [port, ...rest] = args;
  const namesPort = typeof port === 'number' || (typeof port === 'string' && /^\d+$/.test(port));
  const onLoopback = [
    Number(process.env['LISTEN_PORT'] ?? port),
    '127.0.0.1',
    ...rest.filter((arg) => typeof arg !== 'string'),
  ];
  return listen.apply(this, namesPort ? onLoopback : args);
};
