/** The message of an error. A connection error about several addresses has none, only a code. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // The message of a TLS error is a line of OpenSSL's log, with its source file.
  if ('library' in error && 'reason' in error) return `the TLS handshake failed: ${String(error.reason)}`
  return error.message || codeOf(error)
}

/** The `code` of a system or library error, such as `ENOENT`; an empty text if it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

type ListenSettings = { host: string; port: string }

const LISTEN_PROBLEMS: Record<string, (settings: ListenSettings) => string> = {
  EADDRINUSE: ({ port }) => `the port is in use; stop the other program, or set ${port}`,
  EACCES: ({ port }) => `ports below 1024 require privileges; set ${port} to another one`,
  EADDRNOTAVAIL: ({ host }) => `this machine does not have that address; check ${host}`,
  ENOTFOUND: ({ host }) => `no such host; check ${host}`,
}

/** Describes why a server cannot listen, with the names of the settings of its address; undefined for an unexpected error. */
export function listenProblem(
  error: unknown,
  { host, port }: { host: string; port: number },
  settings: ListenSettings,
) {
  const problem = LISTEN_PROBLEMS[codeOf(error)]?.(settings)
  return problem && `can't listen on ${host.includes(':') ? `[${host}]` : host}:${port}: ${problem}`
}

/** Errors of the file system in words, by code. */
export const FILE_REASONS: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOENT: 'there is no such file or directory',
  EEXIST: 'it exists and is not a directory',
  ENOTDIR: 'a part of the path is a file',
  EISDIR: 'it is a directory',
  ENOSPC: 'the disk is full',
}

/** Describes an error of the file system in words, without the path. */
export function reasonOf(error: unknown): string {
  return FILE_REASONS[codeOf(error)] ?? messageOf(error)
}
