import { type CreateVariable, variableKeyProblem } from '@groundstate/contract/variables'
import { isUniqueViolation } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'

/** Throws `invalid` for a key that the engine could not read. `pointer` is where the attributes stand in the body. */
export function checkKey(category: CreateVariable['category'], key: string, pointer: string) {
  const problem = variableKeyProblem(category, key)
  if (problem !== undefined) throw invalid(problem, `${pointer}/key`)
}

/** Runs a change that sets a key. Throws `invalid` when the owner has another variable with that key and category. */
export async function refuseTakenKey<T>(key: string, pointer: string, change: () => Promise<T>) {
  try {
    return await change()
  } catch (error) {
    if (isUniqueViolation(error, 'variables_workspace_key') || isUniqueViolation(error, 'variables_variable_set_key')) {
      throw invalid(`Key has already been taken: there is a variable ${key} of this category`, `${pointer}/key`)
    }
    throw error
  }
}
