import type { AnswerTaskRequest } from '@groundstate/contract/agent'
import type { Ctx } from '../../../app.ts'
import { requireTaskRequest } from './access.ts'
import * as store from './store.ts'
import { sealAnswer } from './task-request.ts'
import { answerTopic } from './topics.ts'

/** Hands what came back to the process that waits for it. A second answer changes nothing. */
export async function recordAnswer(
  ctx: Ctx,
  id: string,
  { token, answer }: { token: string | undefined; answer: AnswerTaskRequest },
) {
  const request = await requireTaskRequest(ctx, id, token)
  if (request.status !== 'leased') return
  await store.recordAnswer(ctx.db, request.id, sealAnswer(ctx, request.id, answer))
  ctx.signals.publish(ctx.db, answerTopic(request.id))
}
