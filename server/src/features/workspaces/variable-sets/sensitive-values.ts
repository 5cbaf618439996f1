import { type SensitiveTexts, sensitiveTexts } from '@groundstate/contract/sensitive-values'
import type { Ctx } from '../../../app.ts'
import { openValue } from '../variables/service.ts'
import { listSensitiveVariables } from './store.ts'

const NONE: SensitiveTexts = new Set()

/** The values that each workspace marks sensitive: of its variables and those of its effective sets. The caller has authorised the workspaces. */
export async function readSensitiveTexts(ctx: Ctx, workspaceIds: readonly string[]) {
  const found = workspaceIds.length === 0 ? [] : await listSensitiveVariables(ctx.db, workspaceIds)
  const rows = Map.groupBy(found, (row) => row.of_workspace_id)
  const texts = new Map(
    [...rows].map(([id, own]) => [
      id,
      sensitiveTexts(own.map((row) => ({ value: openValue(ctx, row), hcl: row.hcl }))),
    ]),
  )
  return (workspaceId: string) => texts.get(workspaceId) ?? NONE
}
