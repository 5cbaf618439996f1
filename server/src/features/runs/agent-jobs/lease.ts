import type { Config } from '../../../config.ts'

/**
 * A lease expires when no heartbeat has arrived for this long, in ms. A plan can be made again elsewhere, so it is soon given
 * up. An apply can't, so that it outlasts a longer cut.
 */
export function leaseLength({ lease }: Pick<Config, 'lease'>, kind: 'plan' | 'apply') {
  return kind === 'plan' ? lease : 4 * lease
}
