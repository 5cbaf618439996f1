import { isUniqueViolation } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'

export async function refuseTakenProjectName<T>(work: () => Promise<T>) {
  try {
    return await work()
  } catch (error) {
    if (isUniqueViolation(error, 'projects_name_key')) {
      throw invalid('Name has already been taken', '/data/attributes/name')
    }
    throw error
  }
}
