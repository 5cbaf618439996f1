import type { CreateToken } from '@groundstate/contract/tokens'
import type { Ctx } from '../../../app.ts'
import { isUniqueViolation } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'
import { type IssuedToken, issueToken } from '../../identity/tokens/issue.ts'
import { requireTeamForNewToken } from './access.ts'
import { tokenSubject } from './token-subject.ts'

/** Makes one of a team's named tokens; the description is its name, which the team has once. */
export async function createTeamToken(ctx: Ctx, teamId: string, input: CreateToken): Promise<IssuedToken> {
  const team = await requireTeamForNewToken(ctx, teamId)
  if (!input.description) throw invalid("description can't be blank", '/data/attributes/description')
  try {
    return await issueToken(ctx, tokenSubject(team), input)
  } catch (error) {
    if (isUniqueViolation(error, 'tokens_team_description_key'))
      throw invalid('Description has already been taken', '/data/attributes/description')
    throw error
  }
}
