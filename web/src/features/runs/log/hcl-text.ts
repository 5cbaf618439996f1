import { isWideNumber } from '@groundstate/contract/exact-json'

const COLLECTIONS: Record<string, string> = { list: 'tolist', set: 'toset', map: 'tomap' }

/** A value as the engine prints it; `type` is in the engine's JSON notation, such as `["list", "string"]`. */
export function hclText(value: unknown, type?: unknown, indent = ''): string {
  if (value === null || value === undefined)
    return typeof type === 'string' && type !== 'dynamic' ? `to${type}(null)` : 'null'
  if (isWideNumber(value)) return value.digits
  if (typeof value === 'string') return stringText(value, indent)
  if (typeof value !== 'object') return JSON.stringify(value)
  const [kind, inner] = Array.isArray(type) ? (type as unknown[]) : []
  const convert = COLLECTIONS[String(kind)]
  const inside = `${indent}  `
  const body = Array.isArray(value)
    ? inBrackets(
        '[]',
        value.map((item: unknown, index) => `${inside}${hclText(item, memberType(kind, inner, index), inside)},`),
        indent,
      )
    : inBrackets(
        '{}',
        Object.entries(value)
          .toSorted(([one], [other]) => (one < other ? -1 : 1))
          .map(
            ([key, item]) => `${inside}${JSON.stringify(key)} = ${hclText(item, memberType(kind, inner, key), inside)}`,
          ),
        indent,
      )
  return convert === undefined ? body : `${convert}(${body})`
}

function inBrackets([open = '', close = '']: string, lines: readonly string[], indent: string) {
  return lines.length === 0 ? `${open}${close}` : `${open}\n${lines.join('\n')}\n${indent}${close}`
}

function memberType(kind: unknown, inner: unknown, key: string | number): unknown {
  if (kind === 'tuple' || kind === 'object') return (inner as Record<string | number, unknown> | undefined)?.[key]
  return inner
}

function stringText(value: string, indent: string) {
  if (!value.includes('\n')) return JSON.stringify(value)
  const lines = value.replace(/\n$/, '').split('\n')
  return [indent === '' ? '<<EOT' : '<<-EOT', ...[...lines, 'EOT'].map((line) => `${indent}${line}`)].join('\n')
}
