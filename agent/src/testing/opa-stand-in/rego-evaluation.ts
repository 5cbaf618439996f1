import { isDeepStrictEqual } from 'node:util'
import { BUILTINS } from './builtins.ts'
import { type Module, RegoError, RegoSet, type Rule, type Statement, type Term, type Value } from './rego-parser.ts'
import { keyOf } from './values.ts'

type Scope = { name: string; value: Value; outer: Scope | undefined } | undefined
type Solution = { value: Value; scope: Scope }

export type Documents = { input: Value; data: Value; modules: readonly Module[] }

/** Rejects calls of functions that are not `allowed`, and variables that nothing binds, as OPA's compiler does. */
export function compile(modules: readonly Module[], allowed: ReadonlySet<string>) {
  for (const { rules } of modules) {
    const global = new Set(['input', 'data', ...rules.map(({ name }) => name)])
    for (const { value, body } of rules) {
      const terms = [value, ...body.flatMap(termsOf)].flatMap(nested)
      const bound = new Set(body.flatMap(bindings).concat(terms.flatMap(inner)))
      for (const term of terms) {
        if (term.kind === 'call' && !(allowed.has(term.name) && term.name in BUILTINS))
          throw new RegoError('rego_type_error', term.at, `undefined function ${term.name}`)
        if (term.kind === 'var' && !global.has(term.name) && !bound.has(term.name))
          throw new RegoError('rego_unsafe_var_error', term.at, `var ${term.name} is unsafe`)
      }
    }
  }
}

function termsOf(statement: Statement): Term[] {
  return [statement.kind === 'some' ? statement.source : statement.term]
}

function bindings(statement: Statement): string[] {
  if (statement.kind === 'assign') return [statement.name]
  return statement.kind === 'some' ? statement.names : []
}

/** Names that a term binds: those of its comprehensions, and variables in brackets. */
function inner(term: Term): string[] {
  if (term.kind === 'comprehension') return term.body.flatMap(bindings)
  return term.kind === 'ref' ? term.path.flatMap((part) => (part.kind === 'var' ? [part.name] : [])) : []
}

/** A term and all terms in it. */
function nested(term: Term): Term[] {
  const parts = {
    value: () => [],
    var: () => [],
    ref: (of: Term & { kind: 'ref' }) => [of.head, ...of.path],
    array: (of: Term & { kind: 'array' | 'set' }) => of.items,
    set: (of: Term & { kind: 'array' | 'set' }) => of.items,
    object: (of: Term & { kind: 'object' }) => of.entries.flat(),
    comprehension: (of: Term & { kind: 'comprehension' }) => [of.item, ...of.body.flatMap(termsOf)],
    call: (of: Term & { kind: 'call' }) => of.args,
  } as Record<Term['kind'], (of: Term) => Term[]>
  return [term, ...parts[term.kind](term).flatMap(nested)]
}

/** Returns the value of a query, undefined if it has none. Throws `RegoError` for a conflict. */
export function evaluateQuery(query: Term, { input, data, modules }: Documents): Value | undefined {
  const rulesAt = new Map<string, Rule[]>()
  for (const { path, rules } of modules)
    for (const rule of rules) {
      const key = [...path, rule.name].join('.')
      rulesAt.set(key, [...(rulesAt.get(key) ?? []), rule])
    }
  const cache = new Map<string, Value | undefined>()

  function ruleValue(key: string): Value | undefined {
    if (!cache.has(key)) cache.set(key, computed(key))
    return cache.get(key)
  }

  function computed(key: string): Value | undefined {
    const rules = rulesAt.get(key) ?? []
    const path = key.split('.').slice(0, -1)
    if (rules.some(({ kind }) => kind === 'contains')) {
      const set = new RegoSet()
      for (const { value, body } of rules)
        for (const scope of solve(body, undefined, path))
          for (const found of solutions(value, scope, path)) set.items.set(keyOf(found.value), found.value)
      return set
    }
    let result: Value | undefined
    for (const { kind, value, body, at } of rules) {
      if (kind === 'default') continue
      for (const scope of solve(body, undefined, path))
        for (const found of solutions(value, scope, path)) {
          if (result !== undefined && !isDeepStrictEqual(result, found.value)) {
            const message = 'complete rules must not produce multiple outputs'
            throw new RegoError('eval_conflict_error', at, message)
          }
          result = found.value
        }
    }
    const fallback = rules.find(({ kind }) => kind === 'default')
    return result ?? (fallback && first(solutions(fallback.value, undefined, path)))
  }

  /** The scopes in which all statements are true. */
  function* solve(body: readonly Statement[], scope: Scope, path: string[]): Generator<Scope> {
    const [statement, ...rest] = body
    if (statement === undefined) return yield scope
    for (const next of satisfied(statement, scope, path)) yield* solve(rest, next, path)
  }

  function* satisfied(statement: Statement, scope: Scope, path: string[]): Generator<Scope> {
    if (statement.kind === 'not') {
      const values = [...solutions(statement.term, scope, path)]
      if (values.every(({ value }) => value === false)) yield scope
      return
    }
    if (statement.kind !== 'some') {
      for (const found of solutions(statement.term, scope, path)) {
        if (statement.kind === 'assign') yield { name: statement.name, value: found.value, outer: found.scope }
        else if (found.value !== false) yield found.scope
      }
      return
    }
    const [one = '', two] = statement.names
    for (const found of solutions(statement.source, scope, path))
      for (const [key, value] of entriesOf(found.value)) {
        const outer = { name: one, value: two === undefined ? value : key, outer: found.scope }
        yield two === undefined ? outer : { name: two, value, outer }
      }
  }

  function* solutions(term: Term, scope: Scope, path: string[]): Generator<Solution> {
    if (term.kind === 'value') return yield { value: term.value, scope }
    if (term.kind === 'var' || term.kind === 'ref') return yield* resolved(term, scope, path)
    if (term.kind === 'comprehension') {
      const items: Value[] = []
      for (const at of solve(term.body, scope, path))
        for (const { value } of solutions(term.item, at, path)) items.push(value)
      return yield { value: term.of === 'array' ? items : setOf(items), scope }
    }
    const parts = term.kind === 'call' ? term.args : term.kind === 'object' ? term.entries.flat() : term.items
    for (const { values, scope: at } of products(parts, scope, path)) {
      const value = assembled(term, values)
      if (value !== undefined) yield { value, scope: at }
    }
  }

  function* products(
    terms: readonly Term[],
    scope: Scope,
    path: string[],
  ): Generator<{ values: Value[]; scope: Scope }> {
    const [term, ...rest] = terms
    if (term === undefined) return yield { values: [], scope }
    for (const { value, scope: at } of solutions(term, scope, path))
      for (const { values, scope: last } of products(rest, at, path)) yield { values: [value, ...values], scope: last }
  }

  function* resolved(term: Term & { kind: 'var' | 'ref' }, scope: Scope, path: string[]): Generator<Solution> {
    const head = term.kind === 'var' ? term : term.head
    const parts = term.kind === 'var' ? [] : term.path
    if (head.kind !== 'var') return
    const { name } = head
    if (name === 'data') return yield* inData(parts, scope, path)
    const local = lookUp(name, scope)
    const rule = [...path, name].join('.')
    if (local === undefined && name !== 'input' && !rulesAt.has(rule))
      throw new Error(`the stand-in evaluates statements in their order, and ${name} has no value yet`)
    const value = local ?? (name === 'input' ? input : ruleValue(rule))
    if (value !== undefined) yield* walk(value, parts, scope, path)
  }

  /** Rules of packages first, then documents. */
  function* inData(parts: readonly Term[], scope: Scope, path: string[]): Generator<Solution> {
    const names = parts.map((part) => (part.kind === 'value' && typeof part.value === 'string' ? part.value : ''))
    for (let length = parts.length; length > 0; length -= 1) {
      const key = names.slice(0, length).join('.')
      if (!rulesAt.has(key)) continue
      const value = ruleValue(key)
      if (value !== undefined) yield* walk(value, parts.slice(length), scope, path)
      return
    }
    yield* walk(data, parts, scope, path)
  }

  function* walk(value: Value, parts: readonly Term[], scope: Scope, path: string[]): Generator<Solution> {
    const [part, ...rest] = parts
    if (part === undefined) return yield { value, scope }
    if (part.kind === 'var' && lookUp(part.name, scope) === undefined) {
      for (const [key, item] of entriesOf(value))
        yield* walk(item, rest, { name: part.name, value: key, outer: scope }, path)
      return
    }
    for (const key of solutions(part, scope, path)) {
      const item = itemOf(value, key.value)
      if (item !== undefined) yield* walk(item, rest, key.scope, path)
    }
  }

  return first(solutions(query, undefined, []))
}

function first(found: Generator<Solution>): Value | undefined {
  for (const { value } of found) return value
  return undefined
}

function lookUp(name: string, scope: Scope): Value | undefined {
  for (let at = scope; at !== undefined; at = at.outer) if (at.name === name) return at.value
  return undefined
}

function assembled(term: Term, values: Value[]): Value | undefined {
  if (term.kind === 'call') return BUILTINS[term.name]?.(...values)
  if (term.kind === 'array') return values
  if (term.kind !== 'object') return setOf(values)
  const keys = values.filter((_, index) => index % 2 === 0)
  const entries = keys.map((key, index): [string, Value] => {
    if (typeof key !== 'string') throw new Error('the stand-in supports only texts as keys of objects')
    return [key, values[2 * index + 1] ?? null]
  })
  return Object.fromEntries(entries)
}

function setOf(values: readonly Value[]) {
  const set = new RegoSet()
  for (const value of values) set.items.set(keyOf(value), value)
  return set
}

function entriesOf(value: Value): [Value, Value][] {
  if (value instanceof RegoSet) return [...value.items.values()].map((item) => [item, item])
  if (Array.isArray(value)) return [...value.entries()]
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}

function itemOf(value: Value, key: Value): Value | undefined {
  if (value instanceof RegoSet) return value.items.get(keyOf(key))
  if (Array.isArray(value)) return typeof key === 'number' ? value[key] : undefined
  if (typeof value !== 'object' || value === null || typeof key !== 'string') return undefined
  return Object.hasOwn(value, key) ? value[key] : undefined
}
