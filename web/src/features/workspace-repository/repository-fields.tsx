import { FolderGit2 } from 'lucide-react'
import { useId, useState } from 'react'
import { DocsLink } from '../../components/docs-link.tsx'
import { Notice } from '../../components/feedback.tsx'
import { CODE_INPUT, CheckField, RadioField, SelectField, TextArea, TextField } from '../../components/form.tsx'
import { FieldAlert } from '../../components/inline-form.tsx'
import { ListLink } from '../../components/links.tsx'
import { Picker } from '../../components/picker.tsx'
import { errorAt, type useDraft } from '../../components/settings-form.tsx'
import { type UsableConnection, connectionOptions, useUsedRepository } from '../connections/connections.ts'
import { PROVIDERS } from '../connections/providers.ts'
import { findHostRepositories, useDirectories } from './host-repositories.ts'
import { type RepositoryValues, TRIGGERS, type Trigger } from './repository-form.ts'

export type RepositoryDraft<Names extends keyof RepositoryValues = keyof RepositoryValues> = ReturnType<
  typeof useDraft<Pick<RepositoryValues, Names>>
>

/** Pointers of the server's errors about a repository. */
export const REPOSITORY_POINTER = /^\/data\/attributes\/vcs-repo/
const AT = '/data/attributes/vcs-repo'

type ChoiceNames = 'tokenId' | 'identifier' | 'branch'
type ChoiceProps = {
  draft: RepositoryDraft<ChoiceNames>
  connections: readonly UsableConnection[]
  workspaceId?: string | undefined
  hasBranch?: boolean
}

/** A connection, a repository of its host and a branch. */
export function RepositoryChoice({ draft, connections, workspaceId, hasBranch = true }: ChoiceProps) {
  const { tokenId, identifier } = draft.values
  const chosen = connections.find(({ id }) => id === tokenId)
  const provider = chosen && PROVIDERS[chosen.provider]
  const defaultBranch = useUsedRepository(chosen?.clientId, identifier)?.['default-branch']
  const isUnknown = tokenId !== '' && chosen === undefined
  const error = errorAt(draft.error, `${AT}/identifier`)
  return (
    <>
      <SelectField
        label="Connection"
        value={tokenId}
        onChange={({ target }) => draft.set({ tokenId: target.value, identifier: '' })}
        options={[
          ...(tokenId === '' ? [['', 'Select a connection'] as const] : []),
          ...(isUnknown ? [[tokenId, 'A connection that you can’t select'] as const] : []),
          ...connectionOptions(connections),
        ]}
        error={errorAt(draft.error, `${AT}/oauth-token-id`) ?? errorAt(draft.error, `${AT}/github-app-installation-id`)}
      />
      {chosen && chosen.problem !== null && <Notice tone="bad">{chosen.problem}</Notice>}
      {provider && !provider.hasApi && (
        <TextField
          label="Repository"
          hint="Its path below the address of the connection."
          placeholder={provider.identifier}
          {...draft.text('identifier')}
          error={error}
          {...CODE_INPUT}
        />
      )}
      {provider?.hasApi === true && (
        <div>
          <p className="font-medium">Repository</p>
          <div className="mt-1 flex flex-wrap items-center gap-2">
            <Picker
              key={tokenId}
              label={identifier === '' ? 'Select repository' : 'Change repository'}
              placeholder={provider.identifier}
              slowText={`${chosen?.address || chosen?.name} has not answered yet…`}
              about={['authorized-repos', tokenId]}
              load={findHostRepositories(tokenId, workspaceId)}
              freeText={(text) => (text.includes('/') ? { value: text, text, about: 'Use as entered' } : undefined)}
              onChoose={({ value }) => draft.set({ identifier: value })}
            />
            {identifier !== '' && (
              <span className="inline-flex min-w-0 items-center gap-1.5 font-medium break-all">
                <FolderGit2 size={16} className="shrink-0 text-dim" />
                {identifier}
              </span>
            )}
          </div>
          <FieldAlert text={error} />
        </div>
      )}
      {hasBranch && (
        <TextField
          label="Branch"
          placeholder={defaultBranch ?? 'The default branch'}
          hint={`The default branch if empty.${provider?.hasApi === false ? '' : ' Pull requests for it get plans.'}`}
          {...draft.text('branch')}
          error={errorAt(draft.error, `${AT}/branch`)}
          {...CODE_INPUT}
        />
      )}
    </>
  )
}

/** Shown where no connection can be selected. */
export function NoConnections({ mayConnect }: { mayConnect: boolean }) {
  return (
    <div className="space-y-2">
      <p>
        Connect GitHub, GitLab, Bitbucket, Azure DevOps, Gitea or any git server first.{' '}
        <DocsLink page="repositories">Repositories</DocsLink>
      </p>
      <p>
        {mayConnect ? (
          <ListLink list="connections/new" className="text-accent underline">
            New connection
          </ListLink>
        ) : (
          'Connecting a host requires the permission to manage connections: ask an owner of the organization.'
        )}
      </p>
    </div>
  )
}

type DirectoryFieldProps = {
  organization: string
  draft: RepositoryDraft<ChoiceNames | 'directory'>
  workspaceId?: string | undefined
  label?: string
  hint: string
}

/** The directory of the configuration, with those of the repository as suggestions once the field has the focus. */
export function DirectoryField({ organization, draft, workspaceId, label, hint }: DirectoryFieldProps) {
  const id = useId()
  const [isNear, setIsNear] = useState(false)
  const { tokenId: connectionId, identifier, branch } = draft.values
  const directories = useDirectories(
    organization,
    { connectionId, identifier, branch, workspaceId },
    { isEnabled: isNear },
  )
  return (
    <>
      <TextField
        label={label ?? 'Working directory'}
        hint={hint}
        list={id}
        onFocus={() => setIsNear(true)}
        onKeyDown={(event) => {
          // The key closes the suggestions, whose state only the browser knows, and not the dialog with all that was entered.
          if (event.key === 'Escape' && directories.length > 0) event.stopPropagation()
        }}
        {...draft.text('directory', 'working-directory')}
        {...CODE_INPUT}
      />
      <datalist id={id}>
        {directories.map((path) => (
          <option key={path} value={path} />
        ))}
      </datalist>
    </>
  )
}

type TriggerNames = 'trigger' | 'prefixes' | 'patterns' | 'tagsRegex' | 'directory'

/** The choice of what starts runs. */
export function TriggerFields({ draft }: { draft: RepositoryDraft<TriggerNames> }) {
  const { trigger, directory } = draft.values
  return (
    <>
      <RadioField
        label="Start runs"
        name="trigger"
        value={trigger}
        onChange={(value) => draft.set({ trigger: value })}
        options={(Object.keys(TRIGGERS) as Trigger[]).map((value) => ({ value, ...TRIGGERS[value] }))}
      />
      <FieldAlert text={errorAt(draft.error, '/data/attributes/file-triggers-enabled')} />
      {trigger === 'prefixes' && (
        <TextArea
          label="Directories"
          hint={
            directory.trim() === ''
              ? 'One a line, from the root of the repository. Without any, every file counts.'
              : 'In addition to the working directory; one a line, from the root of the repository.'
          }
          placeholder={'modules\nshared/network'}
          className="font-mono"
          {...draft.text('prefixes')}
          error={errorAt(draft.error, '/data/attributes/trigger-prefixes')}
          {...CODE_INPUT}
        />
      )}
      {trigger === 'patterns' && (
        <TextArea
          label="Patterns"
          hint="One a line, from the root of the repository. * matches within a directory, ** also below it. The working directory counts only if a pattern matches it."
          placeholder={'/network/**/*.tf\n/modules/**/*'}
          className="font-mono"
          {...draft.text('patterns')}
          error={errorAt(draft.error, '/data/attributes/trigger-patterns')}
          {...CODE_INPUT}
        />
      )}
      {trigger === 'tags' && (
        <TextField
          label="Pattern of the tags"
          hint="A regular expression, in the syntax of RE2. Whatever files have changed, and whatever branch the tag is on."
          placeholder="^v\d+\.\d+\.\d+$"
          className="font-mono"
          {...draft.text('tagsRegex')}
          error={errorAt(draft.error, `${AT}/tags-regex`)}
          {...CODE_INPUT}
        />
      )}
    </>
  )
}

type RunNames = 'submodules' | 'plansPullRequests' | 'queuesAllRuns' | 'appliesReviewed'

export function RunFields({ draft, hasPullRequests }: { draft: RepositoryDraft<RunNames>; hasPullRequests: boolean }) {
  return (
    <>
      {hasPullRequests && (
        <>
          <CheckField
            label="Plan pull requests"
            hint="Each gets a plan of the result of its merge, as a status and a comment on the host."
            {...draft.check('plansPullRequests')}
          />
          <CheckField
            label="Apply automatically what was reviewed"
            hint="After the merge, a plan with the changes that the pull request showed is applied without approval. One with different changes waits, even with auto-apply."
            {...draft.check('appliesReviewed')}
          />
        </>
      )}
      <CheckField
        label="Let the first push start a run"
        hint="Otherwise pushes start runs only after someone has started the first one."
        {...draft.check('queuesAllRuns')}
      />
      <CheckField
        label="Fetch submodules"
        hint="With the credentials of the connection."
        {...draft.check('submodules')}
      />
    </>
  )
}
