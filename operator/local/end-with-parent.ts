/** Preloaded into the programs that `npm start` runs: whatever happens to it, they do not outlive it. */
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref();
