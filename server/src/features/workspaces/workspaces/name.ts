import { isUniqueViolation } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'

/** Runs a change that sets the name of a workspace. Throws `invalid` when another one of the organization has it. */
export async function refuseTakenWorkspaceName<T>(name: string, work: () => Promise<T>) {
  try {
    return await work()
  } catch (error) {
    if (isUniqueViolation(error, 'workspaces_name_key')) {
      throw invalid(`Name has already been taken: there is a workspace ${name}`, '/data/attributes/name')
    }
    throw error
  }
}
