import type { OrganizationAccessInput, UpdateTeam } from '@groundstate/contract/teams'
import { ORGANIZATION_ACCESS, type OrganizationAccess } from '../../../auth/grants.ts'
import { refuseTakenName } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'

export function teamSettingColumns(input: UpdateTeam) {
  return {
    ...(input.description !== undefined && { description: input.description || null }),
    ...(input['sso-team-id'] !== undefined && { sso_team_id: input['sso-team-id'] || null }),
    ...(input.visibility !== undefined && { visibility: input.visibility }),
    ...(input['allow-member-token-management'] !== undefined && {
      allow_member_token_management: input['allow-member-token-management'],
    }),
  }
}

export async function refuseTakenTeamName<T>(work: () => Promise<T>) {
  return refuseTakenName({ constraint: 'teams_name_key' }, work)
}

type Access = Record<OrganizationAccess, boolean>

/** Access that requires other access: access to projects cascades down to workspaces (public documentation, "Teams"). */
const REQUIRED = [
  ['manage_projects', 'manage_workspaces'],
  ['read_projects', 'read_workspaces'],
] as const

/**
 * What changes when `given` is set on top of what the team has now, by column; what a permission requires comes with it.
 * Throws `invalid` where that is explicitly refused.
 */
export function accessChanges(given: OrganizationAccessInput | null | undefined, current: Partial<Access>) {
  const changes: Partial<Access> = {}
  if (!given) return changes
  const set = (name: OrganizationAccess, value: boolean) => {
    if (value !== (current[name] ?? false)) changes[name] = value
  }
  for (const name of ORGANIZATION_ACCESS) {
    const value = given[attributeName(name)]
    if (value !== undefined) set(name, value)
  }
  for (const [name, required] of REQUIRED) {
    if (!(changes[name] ?? current[name])) continue
    const attribute = attributeName(required)
    if (given[attribute] === false) {
      throw invalid(
        `${attribute} can't be false while ${attributeName(name)} is true`,
        `/data/attributes/organization-access/${attribute}`,
      )
    }
    set(required, true)
  }
  return changes
}

/** The name of a column as the interface has it. */
export function attributeName(name: OrganizationAccess) {
  return name.replaceAll('_', '-') as keyof OrganizationAccessInput
}
