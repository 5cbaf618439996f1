/** A value of Rego; sets are their own kind, and numbers are those of JavaScript. */
export type Value = null | boolean | number | string | Value[] | RegoSet | { [key: string]: Value }

/** A set without duplicates, in no order. */
export class RegoSet {
  readonly items = new Map<string, Value>()
}

export type Position = { file: string; row: number; col: number }
export type Term =
  | { kind: 'value'; value: Value }
  | { kind: 'var'; name: string; at: Position }
  | { kind: 'ref'; head: Term; path: Term[] }
  | { kind: 'array' | 'set'; items: Term[] }
  | { kind: 'object'; entries: (readonly [Term, Term])[] }
  | { kind: 'comprehension'; of: 'array' | 'set'; item: Term; body: Statement[] }
  | { kind: 'call'; name: string; args: Term[]; at: Position }
export type Statement =
  | { kind: 'some'; names: string[]; source: Term }
  | { kind: 'assign'; name: string; term: Term }
  | { kind: 'not' | 'test'; term: Term }
export type Rule = {
  kind: 'complete' | 'contains' | 'default'
  name: string
  value: Term
  body: Statement[]
  at: Position
}
export type Module = { path: string[]; rules: Rule[] }

/** An error of the policies, as OPA reports it. */
export class RegoError extends Error {
  readonly errors: readonly { message: string; code: string; location: Position }[]

  constructor(code: string, location: Position, ...messages: string[]) {
    super(messages.join(', '))
    this.errors = messages.map((message) => ({ message, code, location }))
  }
}

type Token = { text: string; kind: 'name' | 'number' | 'string' | 'raw' | 'sign' | 'eof'; at: Position } & {
  /** Whether a line break, or any space, precedes the token. */
  isFirst: boolean
  isSpaced: boolean
}

const PATTERN =
  /(?<space>(?:\s|#[^\n]*)+)|(?<name>[A-Za-z_]\w*)|(?<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?<string>"(?:[^"\\\n]|\\.)*")|(?<raw>`[^`]*`)|(?<sign>:=|==|!=|<=|>=|[-+*/%<>=[\]{}().,;:|&])/y
const INFIX = [['in'], ['==', '!=', '<', '<=', '>', '>='], ['+', '-'], ['*', '/', '%']]
const UNDERSCORE = '_'

function tokensOf(text: string, file: string): Token[] {
  const tokens: Token[] = []
  let [row, lineStart, isFirst, isSpaced] = [1, 0, true, true]
  for (let index = 0; index < text.length;) {
    PATTERN.lastIndex = index
    const groups = PATTERN.exec(text)?.groups
    const at = { file, row, col: index - lineStart + 1 }
    if (groups === undefined) throw new RegoError('rego_parse_error', at, 'illegal token')
    const [kind = '', found = ''] = Object.entries(groups).find(([, value]) => value !== undefined) ?? []
    if (kind === 'space') isSpaced = true
    else {
      tokens.push({ kind: kind as Token['kind'], text: found, at, isFirst, isSpaced })
      isFirst = isSpaced = false
    }
    for (const match of found.matchAll(/\n/g)) {
      row += 1
      lineStart = index + match.index + 1
      isFirst = isFirst || kind === 'space'
    }
    index += found.length
  }
  tokens.push({ kind: 'eof', text: 'eof', at: { file, row, col: 0 }, isFirst: true, isSpaced: true })
  return tokens
}

type ParseOptions = { file: string; isV0: boolean }

/** Parses a module of the subset; throws `RegoError` for other texts. */
export function parseModule(text: string, { file, isV0 }: ParseOptions): Module {
  const parser = createParser(text, file)
  parser.expect('package')
  const path = parser.names()
  const rules: Rule[] = []
  let isV1 = !isV0
  while (!parser.isAtEnd()) {
    if (!parser.accept('import')) rules.push(parser.rule(isV1))
    else if (parser.names().join('.') === 'rego.v1') isV1 = true
  }
  return { path, rules }
}

/** Parses a query, which is a reference. */
export function parseQuery(text: string): Term {
  const parser = createParser(text, '')
  const term = parser.term()
  if (!parser.isAtEnd()) parser.fail()
  return term
}

function createParser(text: string, file: string) {
  const tokens = tokensOf(text, file)
  let index = 0
  let depth = 0
  let wildcards = 0
  const end = tokens.at(-1)!
  const peek = () => tokens[index] ?? end
  const next = () => tokens[index++] ?? end
  const is = (sign: string) => ['name', 'sign'].includes(peek().kind) && peek().text === sign
  const isAtEnd = () => peek().kind === 'eof'

  function accept(sign: string) {
    const found = is(sign)
    if (found) index += 1
    return found
  }

  function fail(): never {
    const { at, text: found } = peek()
    throw new RegoError('rego_parse_error', at, `unexpected ${found} token`)
  }

  function expect(sign: string) {
    if (!accept(sign)) fail()
  }

  function name() {
    if (peek().kind !== 'name') fail()
    const { text: found } = next()
    return found === UNDERSCORE ? `$${(wildcards += 1)}` : found
  }

  function names() {
    const found = [name()]
    while (accept('.')) found.push(name())
    return found
  }

  function rule(isV1: boolean): Rule {
    const { at } = peek()
    const isDefault = accept('default')
    const title = name()
    const rest = { name: title, at }
    if (isDefault) return { ...rest, kind: 'default', value: assigned(), body: [] }
    if (accept('contains')) return { ...rest, kind: 'contains', value: term(), body: ifBody() }
    if (accept('[')) {
      const value = within(term, ']')
      const body = within(() => (expect('{'), statements()), '}')
      if (!isV1) return { ...rest, kind: 'contains', value, body }
      const partial = '`contains` keyword is required for partial set rules'
      throw new RegoError('rego_parse_error', at, '`if` keyword is required before rule body', partial)
    }
    const value: Term = is(':=') || is('=') ? assigned() : { kind: 'value', value: true }
    return { ...rest, kind: 'complete', value, body: ifBody() }
  }

  function assigned() {
    if (!accept('=')) expect(':=')
    return term()
  }

  function ifBody(): Statement[] {
    if (!accept('if')) return []
    return accept('{') ? within(statements, '}') : [statement()]
  }

  /** Reads the rest of a bracket; line breaks inside it end no expression. */
  function within<T>(read: () => T, sign: string): T {
    depth += 1
    const found = read()
    depth -= 1
    expect(sign)
    return found
  }

  function statements(): Statement[] {
    const outer = depth
    depth = 0
    const found: Statement[] = []
    do found.push(statement())
    while (accept(';') || (peek().isFirst && !is('}') && !isAtEnd()))
    depth = outer
    return found
  }

  function statement(): Statement {
    if (accept('some')) {
      const declared = [name()]
      if (accept(',')) declared.push(name())
      expect('in')
      return { kind: 'some', names: declared, source: term() }
    }
    if (accept('not')) return { kind: 'not', term: term() }
    const isAssignment = peek().kind === 'name' && tokens[index + 1]?.text === ':='
    if (!isAssignment) return { kind: 'test', term: term() }
    const assignedName = name()
    expect(':=')
    return { kind: 'assign', name: assignedName, term: term() }
  }

  function term(level = 0): Term {
    const signs = INFIX[level]
    if (signs === undefined) return reference()
    let left = term(level + 1)
    const isContinued = () => !peek().isFirst || depth > 0
    while (signs.some(is) && isContinued()) {
      const { text: sign, at } = next()
      left = { kind: 'call', name: sign, args: [left, term(level + 1)], at }
    }
    return left
  }

  function reference(): Term {
    const { at } = peek()
    let head = primary()
    if (head.kind !== 'var') return head
    const path: Term[] = []
    while (!peek().isSpaced) {
      if (accept('.')) path.push({ kind: 'value', value: name() })
      else if (accept('[')) path.push(within(term, ']'))
      else if (accept('(')) {
        const parts = path.map((part) =>
          part.kind === 'value' && typeof part.value === 'string' ? part.value : fail(),
        )
        return { kind: 'call', name: [head.name, ...parts].join('.'), args: within(() => list(')'), ')'), at }
      } else break
    }
    return path.length === 0 ? head : { kind: 'ref', head, path }
  }

  function list(sign: string): Term[] {
    const items: Term[] = []
    while (!is(sign)) {
      items.push(term())
      if (!accept(',')) break
    }
    return items
  }

  function primary(): Term {
    const { kind, text: found, at } = peek()
    if (kind === 'number') return (next(), { kind: 'value', value: Number(found) })
    if (kind === 'string') return (next(), { kind: 'value', value: JSON.parse(found) as string })
    if (kind === 'raw') return (next(), { kind: 'value', value: found.slice(1, -1) })
    if (accept('true')) return { kind: 'value', value: true }
    if (accept('false')) return { kind: 'value', value: false }
    if (accept('null')) return { kind: 'value', value: null }
    if (kind === 'name') return { kind: 'var', name: name(), at }
    if (accept('(')) return within(term, ')')
    if (accept('[')) return within(() => collection(']', 'array'), ']')
    if (accept('{')) return within(() => collection('}', 'set'), '}')
    return fail()
  }

  function collection(sign: string, of: 'array' | 'set'): Term {
    if (is(sign)) return of === 'array' ? { kind: of, items: [] } : { kind: 'object', entries: [] }
    const first = term()
    if (accept('|')) return { kind: 'comprehension', of, item: first, body: statements() }
    if (of === 'set' && accept(':')) {
      const entries = [[first, term()] as const]
      while (accept(',') && !is(sign)) {
        const key = term()
        expect(':')
        entries.push([key, term()])
      }
      return { kind: 'object', entries }
    }
    return { kind: of, items: accept(',') ? [first, ...list(sign)] : [first] }
  }

  return { expect, accept, names, isAtEnd, rule, term, fail }
}
