import type { UpdateTeam } from '@groundstate/contract/teams'
import { isUniqueViolation } from '../../../db/db.ts'
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
  try {
    return await work()
  } catch (error) {
    if (isUniqueViolation(error, 'teams_name_key')) {
      throw invalid('Name has already been taken', '/data/attributes/name')
    }
    throw error
  }
}
