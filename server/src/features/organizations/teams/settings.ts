import type { UpdateTeam } from '@groundstate/contract/teams'
import { refuseTakenName } from '../../../db/taken-name.ts'

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
