/** What the page asks the worker that holds a raw state. */
export type Question =
  /** Read the state from an address; `size` is how many bytes are expected. */
  | { kind: 'open'; url: string; size: number }
  | { kind: 'rows'; from: number; to: number }
  | { kind: 'find'; query: string }

/** What the worker tells. */
export type Message =
  /** These rows can be read; more come until `isWhole`. */
  | { kind: 'opened'; rows: number; lines: number; received: number; isWhole: boolean }
  | { kind: 'failed'; status: number | undefined; detail: string }
  | { kind: 'rows'; from: number; texts: string[]; numbers: number[] }
  /** The rows that have the text, in their order. */
  | { kind: 'found'; query: string; rows: Uint32Array }
