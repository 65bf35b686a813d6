/** What the script of the upload page uses of a browser: the compiler knows Node only. */
export interface PageGlobals {
  readonly document: PageDocument;
  readonly location: { readonly href: string };
  readonly navigator: { readonly clipboard?: { writeText(text: string): Promise<void> } };
  readonly crypto: { readonly subtle?: { digest(algorithm: string, data: ArrayBuffer): Promise<ArrayBuffer> } };
  readonly Intl: typeof Intl;
  readonly XMLHttpRequest: new () => PageRequest;
  readonly FormData: new () => PageForm;
  readonly DOMParser: new () => { parseFromString(text: string, type: string): PageDocument };
  fetch(url: string): Promise<{ readonly ok: boolean; readonly status: number; json(): Promise<unknown> }>;
  getSelection(): { selectAllChildren(node: PageNode): void } | null;
  setTimeout(callback: () => void, ms: number): unknown;
  addEventListener(type: string, listener: (event: PageEvent) => void): void;
}

export interface PageDocument {
  title: string;
  querySelector(selector: string): PageNode | null;
  querySelectorAll(selector: string): Iterable<PageNode>;
  createElement(name: string): PageNode;
  execCommand(command: string): boolean;
}

export interface PageNode {
  hidden: boolean;
  disabled: boolean;
  required: boolean;
  max: number;
  textContent: string | null;
  className: string;
  type: string;
  value: string | number;
  readonly files: Iterable<PageFile> | null;
  readonly dataset: Readonly<Record<string, string | undefined>>;
  readonly dateTime: string;
  readonly classList: { toggle(name: string, on: boolean): void };
  append(...nodes: PageNode[]): void;
  after(node: PageNode): void;
  replaceChildren(...nodes: PageNode[]): void;
  replaceWith(node: PageNode): void;
  setAttribute(name: string, value: string): void;
  addEventListener(type: string, listener: (event: PageEvent) => void): void;
  focus(): void;
}

export interface PageFile {
  readonly name: string;
  readonly size: number;
  arrayBuffer(): Promise<ArrayBuffer>;
}

export interface PageEvent {
  readonly dataTransfer: { readonly files: Iterable<PageFile> } | null;
  readonly loaded: number;
  readonly total: number;
  preventDefault(): void;
}

export interface PageRequest {
  readonly upload: { addEventListener(type: string, listener: (event: PageEvent) => void): void };
  readonly responseText: string;
  readonly status: number;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  send(form: PageForm): void;
  addEventListener(type: string, listener: () => void): void;
}

export interface PageForm {
  append(name: string, value: string): void;
  append(name: string, value: PageFile, filename: string): void;
}
