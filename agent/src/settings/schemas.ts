import { isAbsolute } from 'node:path'
import { z } from 'zod'

const BOOLEAN_TEXTS = {
  '1': true,
  true: true,
  on: true,
  yes: true,
  '0': false,
  false: false,
  off: false,
  no: false,
} as const

export const onOff = z
  .string()
  .toLowerCase()
  .refine((text) => Object.hasOwn(BOOLEAN_TEXTS, text), 'it must be on or off, or 1 or 0')
  .transform((text) => BOOLEAN_TEXTS[text as keyof typeof BOOLEAN_TEXTS])

export function wholeNumber(min: number, max: number) {
  const error = `it must be a whole number from ${min} to ${max}`
  return z.coerce.number({ error }).pipe(z.int({ error }).min(min, { error }).max(max, { error }))
}

export function oneOf<const Values extends readonly string[]>(values: Values) {
  return z.enum(values, { error: `it must be one of ${values.join(', ')}` })
}

/** An http or https address; https by default. */
export const webAddress = z
  .string()
  .transform((text) => (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`))
  .refine(
    isWebAddress,
    'it must be an address such as https://groundstate.example.com, without a user name, query or fragment',
  )
  .transform((text) => text.replace(/\/+$/, ''))

/** A port of the loopback address, or host and port → both. */
export const listenAddress = z.string().transform((text, context) => {
  const [, v6, name = '127.0.0.1', port] = /^(?:(?:\[([0-9a-f:.]+)\]|([^\s:/[\]]+)):)?(\d{1,5})$/i.exec(text) ?? []
  if (port !== undefined && Number(port) <= 65_535) return { host: v6 ?? name, port: Number(port) }
  context.addIssue('it must be a port, or an address such as 0.0.0.0:7778')
  return z.NEVER
})

/** Sources of providers, separated by commas: addresses of network mirrors, directories laid out as mirrors, and `direct`, the registries. */
export const providerMirrors = z.string().transform((text, context) => {
  const sources = text.split(',').map((source) => source.trim())
  const problems = sources.map(mirrorProblem).filter((problem) => problem !== undefined)
  for (const problem of problems) context.addIssue(problem)
  // Engines reject an address without the slash.
  return sources.map((source) => (source.startsWith('https://') && !source.endsWith('/') ? `${source}/` : source))
})

function mirrorProblem(source: string): string | undefined {
  if (source === 'direct' || isAbsolute(source)) return undefined
  if (!URL.canParse(source) || !/^https?:/i.test(source))
    return `${JSON.stringify(source)} is neither the https address of a network mirror, an absolute directory nor direct`
  if (!isWebAddress(source)) return 'the address of a mirror must be without a user name, query or fragment'
  if (new URL(source).protocol === 'https:') return undefined
  return `${JSON.stringify(source)} must begin with https://: engines accept no other network mirror`
}

function isWebAddress(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, search, hash } = new URL(text)
  return /^https?:$/.test(protocol) && username === '' && search === '' && hash === ''
}

const UNITS = { k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 }
/** Minimum for the start of an engine, in bytes. */
const MIN_MEMORY = 64 * 1024 ** 2

const cpuError = 'it must be a number of processors from 0.05 to 1024, such as 0.5 or 2'

/** A size as text (`512m`, `2g`, plain bytes) → bytes. */
export function byteSize(min: number, error: string) {
  return z
    .string()
    .regex(/^\d{1,15}(\.\d{1,3})?[kmgt]?$/i, error)
    .transform((text) => Math.floor(Number.parseFloat(text) * unitOf(text)))
    .refine((bytes) => bytes >= min, error)
}

export const memoryLimit = byteSize(MIN_MEMORY, 'it must be an amount of memory of at least 64m, such as 512m or 2g')

export const cpuLimit = z
  .string()
  .regex(/^\d{1,4}(\.\d{1,3})?$/, cpuError)
  .transform(Number)
  .refine((cpus) => cpus >= 0.05 && cpus <= 1024, cpuError)

function unitOf(text: string): number {
  const letter = text.slice(-1).toLowerCase()
  return letter in UNITS ? UNITS[letter as keyof typeof UNITS] : 1
}
