import { TRIGGER_TYPES } from '@groundstate/contract/run-triggers'
import type { Ctx } from '../../../app.ts'
import type { Page, Paged } from '../../../db/page.ts'
import { badRequest } from '../../../errors.ts'
import { readText } from '../../../http/query.ts'
import { requireTriggerWorkspace } from './access.ts'
import * as store from './store.ts'

type ListInput = { page: Page; query: Record<string, unknown> }

const TYPE = 'filter[run-trigger][type]'

/** The triggers that start runs in a workspace (`inbound`), or those that its applies fire (`outbound`). */
export async function listRunTriggers(
  ctx: Ctx,
  workspaceId: string,
  { page, query }: ListInput,
): Promise<Paged<store.RunTriggerRow>> {
  const workspace = await requireTriggerWorkspace(ctx, workspaceId, 'runs:read')
  return store.listRunTriggers(ctx.db, { workspaceId: workspace.id, type: readType(query), page })
}

function readType(query: Record<string, unknown>) {
  const text = readText(query, TYPE)
  const type = TRIGGER_TYPES.find((type) => type === text)
  if (type !== undefined) return type
  const given = text === undefined ? 'is missing' : `is ${JSON.stringify(text.slice(0, 100))}`
  throw badRequest(`${TYPE} ${given}, it must be ${TRIGGER_TYPES.join(' or ')}`, TYPE)
}
