import { isUniqueViolation } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'

/** Runs `work`, which gives a pool the name. Throws `invalid` when another pool of the organization has it. */
export async function withUniqueName<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isUniqueViolation(error, 'agent_pools_name_key'))
      throw invalid(`Name has already been taken: there is an agent pool ${name}`, '/data/attributes/name')
    throw error
  }
}
