import type { Ctx } from '../../../app.ts'
import type { Tx } from '../../../db/db.ts'

/**
 * An apply has succeeded, in the transaction that says so. The place where run triggers enqueue their durable job; as long
 * as no feature takes it, nothing is enqueued.
 */
export async function onRunApplied(_ctx: Ctx & { db: Tx }, _run: { id: string; workspace_id: string }) {}
