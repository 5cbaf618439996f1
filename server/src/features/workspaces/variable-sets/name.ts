import { isUniqueViolation } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'

/** Runs a change that sets the name of a set. Throws `invalid` when the owner has another set of that name. */
export async function refuseTakenSetName<T>(change: () => Promise<T>) {
  try {
    return await change()
  } catch (error) {
    if (isUniqueViolation(error, 'variable_sets_name_key')) {
      throw invalid('Name has already been taken', '/data/attributes/name')
    }
    throw error
  }
}
