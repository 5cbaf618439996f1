import { z } from 'zod'
import { sha } from '../bodies.ts'

/**
 * The webhook that any git server can send, from a hook such as `post-receive.sh`: what git passes to `post-receive` for a ref. 40 or 64
 * zeros mean that the ref was created or deleted.
 */
export const pushSchema = z.looseObject({
  ref: z.string().startsWith('refs/').max(1000),
  before: sha,
  after: sha,
  /** The identifier of the repository, which the URL of the webhook implies. */
  repository: z.string().max(1000).optional(),
  /** The name of the user. */
  pusher: z.string().max(255).optional(),
  /** The message of the commit; git has it, too. */
  message: z.string().optional(),
})
