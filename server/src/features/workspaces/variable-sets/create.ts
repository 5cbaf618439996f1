import type { Identifier } from '@groundstate/contract/json-api'
import type { CreateVariableSet } from '@groundstate/contract/variable-sets'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { forbidden, invalid } from '../../../errors.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { requireProjectIn } from '../../organizations/projects/access.ts'
import { requireVariableSet } from './access.ts'
import { variableSetAudit } from './audit.ts'
import { replaceSetScope } from './change-scope.ts'
import { changeVariables } from './change-variables.ts'
import { refuseTakenSetName } from './name.ts'
import * as store from './store.ts'
import type { VariableSet } from './variable-set.ts'

/** Creates a set with its variables and where it applies, owned by the organization or by one of its projects. */
export async function createVariableSet(
  ctx: Ctx,
  organizationName: string,
  { attributes, relationships }: CreateVariableSet,
): Promise<VariableSet> {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const owner = await requireOwner(ctx, organization, relationships.parent?.data)
  return refuseTakenSetName(() =>
    transact(ctx, async (ctx) => {
      const id = ctx.newId('varset')
      const now = ctx.now()
      await store.insertVariableSet(ctx.db, {
        id,
        organization_id: organization.id,
        project_id: owner,
        name: attributes.name,
        description: attributes.description ?? '',
        is_global: attributes.global ?? false,
        priority: attributes.priority ?? false,
        created_at: now,
        updated_at: now,
      })
      const scope = { id, organization_id: organization.id, project_id: owner }
      await replaceSetScope(ctx, scope, relationships)
      await changeVariables(ctx, scope, relationships.vars?.data ?? [])
      // The variables have events of their own.
      const { vars: _, ...applied } = relationships
      const meta = { changes: { ...attributes, ...applied } }
      await recordAudit(ctx, await variableSetAudit(ctx, { ...scope, name: attributes.name }, 'create', meta))
      return requireVariableSet(ctx, id, 'read')
    }),
  )
}

/** The id of the project that is to own a new set; null for the organization itself. */
async function requireOwner(
  ctx: Ctx,
  organization: Awaited<ReturnType<typeof requireOrganization>>,
  parent: Identifier | undefined,
) {
  if (parent?.type === 'projects') {
    const project = await requireProjectIn(ctx, organization.id, {
      id: parent.id,
      permission: 'variable-sets:manage',
      pointer: '/data/relationships/parent',
    })
    return project.id
  }
  if (parent && parent.id.toLowerCase() !== organization.name.toLowerCase()) {
    throw invalid(`a set of ${organization.name} can't belong to ${parent.id}`, '/data/relationships/parent')
  }
  if (!organization.can.has('variable-sets:manage')) {
    throw forbidden(`this needs the permission variable-sets:manage in the organization ${organization.name}`)
  }
  return null
}
