import { isWideNumber, parseExact } from '@groundstate/contract/exact-json'
import { type Given, withoutMark } from './given.ts'

/** Reads a `.tfvars.json` file: texts, numbers and bools become plain values, everything else an HCL expression, which JSON is. */
export function parseJsonVariables(source: string): Given[] {
  let values: unknown
  try {
    values = parseExact(withoutMark(source))
  } catch (error) {
    return [{ line: 1, fault: `this is no JSON: ${error instanceof Error ? error.message : String(error)}` }]
  }
  if (typeof values !== 'object' || values === null || Array.isArray(values) || isWideNumber(values)) {
    return [{ line: 1, fault: 'the JSON must be an object: {"name": value}' }]
  }
  return Object.entries(values).map(([key, value]) => {
    if (isWideNumber(value)) return { key, line: 1, hcl: false, value: value.digits }
    const isPlain = typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number'
    return { key, line: 1, hcl: !isPlain, value: isPlain ? String(value) : hclOf(value, '') }
  })
}

/** A value of JSON in HCL: `${` and `%{` would begin something to put in. */
function hclOf(value: unknown, indent: string): string {
  const deeper = `${indent}  `
  if (isWideNumber(value)) return value.digits
  if (typeof value === 'string') return JSON.stringify(value).replaceAll(/([$%])\{/g, '$1$1{')
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    return `[\n${value.map((item) => `${deeper}${hclOf(item, deeper)},\n`).join('')}${indent}]`
  }
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
    if (members.length === 0) return '{}'
    return `{\n${members.map(([name, item]) => `${deeper}${hclOf(name, deeper)} = ${hclOf(item, deeper)}\n`).join('')}${indent}}`
  }
  return String(value)
}
