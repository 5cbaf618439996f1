import type { TransactionCtx } from '../../../app.ts'

/**
 * An apply has succeeded, in the transaction that says so. The place where run triggers enqueue their durable job; as long
 * as no feature takes it, nothing is enqueued.
 */
export async function onRunApplied(_ctx: TransactionCtx, _run: { id: string; workspace_id: string }) {}
