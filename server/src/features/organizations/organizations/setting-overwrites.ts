import { invalid } from '../../../errors.ts'

/** A pool follows the defaults together with the execution mode that uses it. Throws `invalid` for one without the other. */
export function checkOverwrites(pool: boolean | null | undefined, mode: boolean | null | undefined) {
  if (typeof pool !== 'boolean' || typeof mode !== 'boolean' || pool === mode) return
  // Clients look for these words.
  throw invalid(
    'If agent-pool and execution-mode are both included in setting-overwrites, their values must be the same.',
    '/data/attributes/setting-overwrites',
  )
}
