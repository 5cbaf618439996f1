import { z } from 'zod'

const UNITS = { k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 }
/** Less than this is too little for an engine to start, in bytes. */
const LEAST_MEMORY = 64 * 1024 ** 2

const memoryError = 'it must be an amount of memory of at least 64m, such as 512m or 2g'
const cpuError = 'it must be a number of processors from 0.05 to 1024, such as 0.5 or 2'

/** An amount of memory as text (`512m`, `2g`, plain bytes) → bytes. */
export const memoryLimit = z
  .string()
  .regex(/^\d{1,15}(\.\d{1,3})?[kmgt]?$/i, memoryError)
  .transform((text) => Math.floor(Number.parseFloat(text) * unitOf(text)))
  .refine((bytes) => bytes >= LEAST_MEMORY, memoryError)

/** A number of processors as text. */
export const cpuLimit = z
  .string()
  .regex(/^\d{1,4}(\.\d{1,3})?$/, cpuError)
  .transform(Number)
  .refine((cpus) => cpus >= 0.05 && cpus <= 1024, cpuError)

function unitOf(text: string): number {
  const letter = text.slice(-1).toLowerCase()
  return letter in UNITS ? UNITS[letter as keyof typeof UNITS] : 1
}
