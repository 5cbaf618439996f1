import type { Ctx } from '../../../app.ts'
import type { Page, Paged } from '../../../db/page.ts'
import { requireGrantSubject } from './access.ts'
import type { GrantKind } from './grant-kind.ts'
import type { Grant } from './grant.ts'
import * as store from './store.ts'

/**
 * What teams may do to a workspace or project. An actor that administers it sees all of it; a member sees what its own
 * teams may do (public documentation, "Team access" and "Project team access").
 */
export async function listGrants(
  ctx: Ctx,
  kind: GrantKind,
  { subjectId, teamId, page }: { subjectId: string; teamId: string | undefined; page: Page | undefined },
): Promise<Paged<Grant>> {
  const subject = await requireGrantSubject(ctx, kind, { id: subjectId, permission: 'read' })
  if (!subject.seesAllGrants && ctx.actor.kind !== 'user') return { rows: [], total: 0 }
  const ofUser = subject.seesAllGrants || ctx.actor.kind !== 'user' ? undefined : ctx.actor.userId
  const { rows, total } = await store.listGrants(ctx.db, kind, { subjectId, teamId, ofUser, page })
  return { rows: rows.map((row) => ({ ...row, subject })), total }
}
