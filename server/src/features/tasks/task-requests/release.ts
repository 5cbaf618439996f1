import type { Ctx } from '../../../app.ts'
import type { ClaimingAgent } from './claiming-agent.ts'
import { requeueRequest } from './store.ts'
import { queueTopic } from './topics.ts'

/** Queues a request again that its agent did not receive. */
export async function releaseTaskRequest(ctx: Ctx, agent: ClaimingAgent, id: string) {
  await requeueRequest(ctx.db, id)
  ctx.signals.publish(ctx.db, queueTopic(agent.agent_pool_id))
}
