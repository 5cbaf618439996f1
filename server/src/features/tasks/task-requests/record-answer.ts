import type { AnswerTaskRequest } from '@groundstate/contract/agent'
import type { Ctx } from '../../../app.ts'
import { requireTaskRequest } from './access.ts'
import * as store from './store.ts'
import { sealResponse } from './task-request.ts'
import { responseTopic } from './topics.ts'

/** Hands what came back to the process that waits for it. A second answer changes nothing. */
export async function recordResponse(
  ctx: Ctx,
  id: string,
  { token, response }: { token: string | undefined; response: AnswerTaskRequest },
) {
  const request = await requireTaskRequest(ctx, id, token)
  if (request.status !== 'leased') return
  await store.recordResponse(ctx.db, request.id, sealResponse(ctx, request.id, response))
  ctx.signals.publish(ctx.db, responseTopic(request.id))
}
