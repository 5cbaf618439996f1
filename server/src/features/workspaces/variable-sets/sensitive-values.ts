import type { Ctx } from '../../../app.ts'
import { type KnownValues, formerValueKey, knownValues } from '../../../terraform-state/known-values.ts'
import { openValue } from '../variables/service.ts'
import { type SensitiveRow, listSensitiveValues } from './store.ts'

/**
 * The values that each workspace marks sensitive: of its variables and those of its sets, and the values that they had. Undefined for a
 * workspace without any. The caller has authorised the workspaces.
 */
export async function readSensitiveValues(ctx: Ctx, workspaceIds: readonly string[]) {
  const found = workspaceIds.length === 0 ? [] : await listSensitiveValues(ctx.db, workspaceIds)
  const rows = Map.groupBy(found, (row) => row.workspace_id)
  const values = new Map([...rows].map(([id, own]) => [id, valuesOf(ctx, own)]))
  return (workspaceId: string) => values.get(workspaceId)
}

function valuesOf(ctx: Ctx, rows: readonly SensitiveRow[]): KnownValues | undefined {
  const variables = rows.flatMap((row) =>
    row.id === null ? [] : { value: openValue(ctx, { ...row, value: null }), hcl: row.hcl },
  )
  const digests = rows.flatMap((row) => (row.id === null ? row : []))
  const organizationId = rows[0]?.organization_id ?? ''
  return knownValues(variables, { key: formerValueKey(ctx.secrets, organizationId), digests })
}
