import { invalid } from '../errors.ts'
import { isUniqueViolation } from './db.ts'

/**
 * Runs a change that sets the name of a resource. Throws `invalid` with the detail when the change violates the unique
 * constraint: another resource has the name.
 */
export async function refuseTakenName<T>(
  { constraint, detail = 'Name has already been taken' }: { constraint: string; detail?: string },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isUniqueViolation(error, constraint)) throw invalid(detail, '/data/attributes/name')
    throw error
  }
}
