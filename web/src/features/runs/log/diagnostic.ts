/** What the engine says is wrong, in the format of its JSON output (`terraform validate -json` documents it). */
export type Diagnostic = {
  severity: 'error' | 'warning' | 'unknown'
  summary: string
  detail?: string | undefined
  /** The resource that it is about. */
  address?: string | undefined
  range?: { filename: string; start: { line: number }; end?: { line: number } } | undefined
  snippet?: Snippet | null | undefined
}

export type Snippet = {
  /** What the code stands in: `resource "aws_instance" "web"`. */
  context?: string | null | undefined
  code: string
  start_line: number
  /** Offsets in the bytes of `code`. */
  highlight_start_offset: number
  highlight_end_offset: number
  values?: readonly { traversal: string; statement: string }[] | null | undefined
  function_call?: FunctionCall | null | undefined
}

type FunctionCall = {
  called_as: string
  signature?: {
    params?: readonly { name: string }[] | null
    variadic_param?: { name: string } | null
  } | null
}

/** Errors before warnings, each kind in the order of the log. */
export function errorsFirst<D extends Diagnostic>(diagnostics: readonly D[]): D[] {
  const rank = ({ severity }: Diagnostic) => (severity === 'error' ? 0 : 1)
  return diagnostics.toSorted((one, other) => rank(one) - rank(other))
}

/** The code before, in and after the part that the diagnostic is about. */
export function highlighted({ code, highlight_start_offset: start, highlight_end_offset: end }: Snippet) {
  const bytes = new TextEncoder().encode(code)
  const from = Math.min(Math.max(0, start), bytes.length)
  const to = Math.min(Math.max(from, end), bytes.length)
  const part = (first: number, last: number) => new TextDecoder().decode(bytes.slice(first, last))
  return { before: part(0, from), highlight: part(from, to), after: part(to, bytes.length) }
}

/** The call in which the error arose: `cidrsubnet(prefix, newbits, netnum)`; undefined when there is none. */
export function calledAs({ function_call: call }: Snippet) {
  if (!call?.signature) return undefined
  const { params, variadic_param: variadic } = call.signature
  const names = [...(params ?? []).map(({ name }) => name), ...(variadic ? [`${variadic.name}...`] : [])]
  return { name: call.called_as, parameters: `(${names.join(', ')})` }
}
