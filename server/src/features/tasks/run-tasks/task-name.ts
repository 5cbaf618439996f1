import { isUniqueViolation } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'

/** Runs `work`, and throws `invalid` when another task of the organization has the name that it stores. */
export async function refuseTakenTaskName(name: string, work: () => Promise<void>) {
  try {
    await work()
  } catch (error) {
    if (!isUniqueViolation(error, 'tasks_name_key')) throw error
    throw invalid(`Name ${name} has already been taken`, '/data/attributes/name')
  }
}
