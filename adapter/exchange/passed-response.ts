import type { ResponseControl, ResponseHead, ResponseSink } from './upstream.ts';

/** Passes an answer on, and its reader's control back; who does something to either overrides that. */
export class PassedResponse implements ResponseSink, ResponseControl {
  protected readonly next: ResponseSink;
  protected control: ResponseControl | undefined;

  constructor(next: ResponseSink) {
    this.next = next;
  }

  pause(): void {
    this.control?.pause();
  }

  resume(): void {
    this.control?.resume();
  }

  abort(): void {
    this.control?.abort();
  }

  onStart(control: ResponseControl): void {
    this.control = control;
    this.next.onStart(this);
  }

  onHead(head: ResponseHead): void {
    this.next.onHead(head);
  }

  onData(chunk: Buffer): void {
    this.next.onData(chunk);
  }

  onEnd(): void {
    this.next.onEnd();
  }

  onError(error: Error, sent: boolean): void {
    this.next.onError(error, sent);
  }
}
