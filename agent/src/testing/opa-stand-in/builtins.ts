import { isDeepStrictEqual } from 'node:util'
import { RegoSet, type Value } from './rego-parser.ts'
import { compare, keyOf, printGo, toJson } from './values.ts'

type Builtin = (...args: Value[]) => Value | undefined

/** Functions and operators; undefined where OPA's would be, too. Those that need a network or the environment only exist to be forbidden. */
export const BUILTINS: Readonly<Record<string, Builtin>> = {
  '==': (a, b) => isDeepStrictEqual(a, b),
  '!=': (a, b) => !isDeepStrictEqual(a, b),
  '<': (a = null, b = null) => compare(a, b) < 0,
  '<=': (a = null, b = null) => compare(a, b) <= 0,
  '>': (a = null, b = null) => compare(a, b) > 0,
  '>=': (a = null, b = null) => compare(a, b) >= 0,
  '+': arithmetic((a, b) => a + b),
  '-': arithmetic((a, b) => a - b),
  '*': arithmetic((a, b) => a * b),
  '/': arithmetic((a, b) => (b === 0 ? undefined : a / b)),
  '%': arithmetic((a, b) => (b === 0 ? undefined : a % b)),
  in: (item = null, collection = null) => {
    if (collection instanceof RegoSet) return collection.items.has(keyOf(item))
    if (typeof collection !== 'object' || collection === null) return false
    return Object.values(collection).some((other) => isDeepStrictEqual(other, item))
  },
  count: (value) => {
    if (typeof value === 'string') return Array.from(value).length
    if (value instanceof RegoSet) return value.items.size
    return typeof value === 'object' && value !== null ? Object.keys(value).length : undefined
  },
  sprintf: (format, values) => {
    if (typeof format !== 'string' || !Array.isArray(values)) return undefined
    const rest = [...values]
    return format.replaceAll(/%([sdv%])/g, (_, verb: string) => (verb === '%' ? '%' : printed(rest.shift() ?? null)))
  },
  startswith: (text, start) =>
    typeof text === 'string' && typeof start === 'string' ? text.startsWith(start) : undefined,
  'numbers.range': (from, to) => {
    if (typeof from !== 'number' || typeof to !== 'number') return undefined
    return Array.from({ length: Math.abs(to - from) + 1 }, (_, index) => from + Math.sign(to - from) * index)
  },
  'json.marshal': (value = null) => printGo(toJson(value)),
  'http.send': () => undefined,
  'net.lookup_ip_addr': () => undefined,
  'opa.runtime': () => undefined,
}

function arithmetic(compute: (a: number, b: number) => number | undefined): Builtin {
  return (a, b) => (typeof a === 'number' && typeof b === 'number' ? compute(a, b) : undefined)
}

/** A value as a term of Rego; texts as they are. */
function printed(value: Value): string {
  return typeof value === 'string' ? value : asTerm(toJson(value), value instanceof RegoSet)
}

function asTerm(document: unknown, isSet = false): string {
  if (Array.isArray(document)) {
    const items = document.map((item) => asTerm(item)).join(', ')
    return isSet ? `{${items}}` : `[${items}]`
  }
  if (typeof document !== 'object' || document === null) return JSON.stringify(document)
  return `{${Object.entries(document)
    .map(([key, item]) => `${JSON.stringify(key)}: ${asTerm(item)}`)
    .join(', ')}}`
}
