import type { Wire } from '@groundstate/contract/responses'
import type { userSchema } from '@groundstate/contract/users'
import { Bot, GitCommitHorizontal, Zap } from 'lucide-react'
import { ownPath } from '../../api/client.ts'
import { type RunCommit, type RunConfiguration, commitOrigin, isFetched } from './run-commit.tsx'
import type { Run } from './run.ts'

type Source = Run['attributes']['source']
export type RunAuthor = Wire<typeof userSchema>

/** Origins of runs by their name in page URLs, each with its sources in the API. */
export const ORIGINS = {
  'command-line': { text: 'CLI', sources: ['terraform', 'terraform+cloud'] },
  web: { text: 'UI', sources: ['tfe-ui'] },
  api: { text: 'API', sources: ['tfe-api'] },
  upload: { text: 'CLI/API upload', sources: ['tfe-configuration-version'] },
  trigger: { text: 'run trigger', sources: ['tfe-run-trigger'] },
} as const satisfies Record<string, { text: string; sources: readonly Source[] }>

const TEXTS = Object.fromEntries(
  Object.values(ORIGINS).flatMap(({ text, sources }) => sources.map((source) => [source, text])),
) as Record<Source, string>

/** The configuration of a run, and its commit once it is known, if they come from a repository. */
export type RepositoryOrigin = { commit?: RunCommit | undefined; configuration?: RunConfiguration | undefined }

/** "CLI", "run trigger of network-prod", "push to main". */
export function originText(
  run: Pick<Run['attributes'], 'source' | 'triggering-source-name'>,
  { commit, configuration }: RepositoryOrigin = {},
) {
  if (isOfRepository(run)) {
    if (commit) return commitOrigin(commit)
    if (configuration && isFetched(configuration)) return 'repository'
  }
  const name = run['triggering-source-name']
  return name === null ? TEXTS[run.source] : `${TEXTS[run.source]} of ${name}`
}

/** A repository starts runs with the source of an upload; people and triggers may later start others of the same commit. */
export function isOfRepository({ source }: { source: Source }) {
  return source === 'tfe-configuration-version'
}

type RunAuthorProps = RepositoryOrigin & { run: { source: Source }; author: RunAuthor | undefined }

/** The user who created a run, with their avatar; else the run trigger, the user of the host or the token that did. */
export function RunAuthorName({ run, author, commit, configuration }: RunAuthorProps) {
  const isFromHost = isOfRepository(run) && (commit !== undefined || (configuration && isFetched(configuration)))
  const sender = isFromHost ? commit?.attributes['sender-username'] || 'git' : undefined
  const [Icon, text] =
    run.source === 'tfe-run-trigger'
      ? [Zap, 'run trigger']
      : sender === undefined
        ? [Bot, 'a token']
        : [GitCommitHorizontal, sender]
  const { username = text, 'avatar-url': avatar } = author?.attributes ?? {}
  return (
    <span className="inline-flex min-w-0 items-center gap-1.5 align-bottom">
      {avatar === undefined ? (
        <Icon size={16} className="shrink-0 text-dim" />
      ) : (
        <img src={ownPath(avatar)} alt="" width={18} height={18} className="size-[18px] shrink-0 rounded-full" />
      )}
      <span className="truncate">{username}</span>
    </span>
  )
}
