import { GitError } from '@groundstate/agent/git/errors'
import type { Ctx } from '../../../app.ts'
import type { TestResult } from '../connections/service.ts'
import { runGit } from './run.ts'
import * as store from './store.ts'

/** Tests a token with a repository that workspaces use through it. */
export async function testWithRepository(ctx: Ctx, tokenId: string): Promise<TestResult> {
  const answer = (result: TestResult['result'], message: string) => ({
    result,
    'service-provider-user': null,
    message,
  })
  const repository = await store.findUsedRepository(ctx.db, tokenId)
  if (!repository)
    return answer('untested', 'the host has no API to ask, and no workspace uses a repository through the connection')
  try {
    await runGit(ctx, repository, { kind: 'refs' })
    return answer('accepted', `git can read ${repository.identifier}`)
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    return answer(error.mayPass ? 'unreachable' : 'refused', error.message)
  }
}
