import type { Wire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import type { userSchema } from '@groundstate/contract/users'
import { Bot, Zap } from 'lucide-react'
import { ownPath } from '../../api/client.ts'

type RunAttributes = Wire<typeof runSchema>['attributes']
type Source = RunAttributes['source']
export type RunAuthor = Wire<typeof userSchema>

/** Where runs come from, in the words of people; each has the sources of the API that it stands for. */
export const ORIGINS = {
  'command-line': { text: 'command line', sources: ['terraform', 'terraform+cloud'] },
  web: { text: 'web', sources: ['tfe-ui'] },
  api: { text: 'API', sources: ['tfe-api'] },
  upload: { text: 'upload', sources: ['tfe-configuration-version'] },
  trigger: { text: 'run trigger', sources: ['tfe-run-trigger'] },
} as const satisfies Record<string, { text: string; sources: readonly Source[] }>
export type Origin = keyof typeof ORIGINS

const TEXTS = Object.fromEntries(
  Object.values(ORIGINS).flatMap(({ text, sources }) => sources.map((source) => [source, text])),
) as Record<Source, string>

/** "command line", "run trigger of network-prod". */
export function originText(run: Pick<RunAttributes, 'source' | 'triggering-source-name'>) {
  const name = run['triggering-source-name']
  return name === null ? TEXTS[run.source] : `${TEXTS[run.source]} of ${name}`
}

/** Who started a run: a person with their picture, or what acts without one. */
export function RunAuthorName({ run, author }: { run: Pick<RunAttributes, 'source'>; author: RunAuthor | undefined }) {
  if (!author) {
    const Icon = run.source === 'tfe-run-trigger' ? Zap : Bot
    return (
      <span className="inline-flex items-center gap-1.5">
        <Icon size={16} aria-hidden="true" className="shrink-0 text-dim" />
        {run.source === 'tfe-run-trigger' ? 'run trigger' : 'a token'}
      </span>
    )
  }
  const { username, 'avatar-url': avatar } = author.attributes
  return (
    <span className="inline-flex min-w-0 items-center gap-1.5">
      <img src={ownPath(avatar)} alt="" width={18} height={18} className="size-[18px] shrink-0 rounded-full" />
      <span className="truncate">{username}</span>
    </span>
  )
}
