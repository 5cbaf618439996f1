import type { FormEvent } from 'react'
import { loaded } from '../../components/feedback.tsx'
import { CODE_INPUT, FormErrors, RadioField, TextField, fieldError } from '../../components/form.tsx'
import { FieldAlert } from '../../components/inline-form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { errorAt, useDraft } from '../../components/settings-form.tsx'
import { useUsableConnections } from '../connections/connections.ts'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { isInstallation } from '../workspace-repository/host-repositories.ts'
import {
  DirectoryField,
  NoConnections,
  REPOSITORY_POINTER,
  RepositoryChoice,
} from '../workspace-repository/repository-fields.tsx'
import { type ConnectedModule, type ModuleName, useConnectModule } from './registry.ts'

const EMPTY = {
  tokenId: '',
  identifier: '',
  branch: '',
  directory: '',
  name: '',
  provider: '',
  tagPrefix: '',
  version: '',
  mechanism: 'tags',
}
type Values = typeof EMPTY
const AT = '/data/attributes/vcs-repo'

type RepositoryFormProps = {
  organization: string
  id: string
  onPending: (isPending: boolean) => void
  onPublished: (module: ModuleName & { version: undefined }) => void
}

/** A new module whose versions are tags or commits of a repository. */
export function RepositoryForm({ organization, id, onPending, onPublished }: RepositoryFormProps) {
  const query = useUsableConnections(organization, undefined)
  const { data: connections, fallback } = loaded(query, { rows: 3 })
  const mayConnect = useOrganizationPermissions(organization)?.['can-update-oauth'] === true
  const draft = useDraft(EMPTY)
  const connect = useConnectModule(organization)
  const { values } = draft
  const isByTags = values.mechanism === 'tags'
  if (!connections) return fallback
  if (connections.length === 0) return <NoConnections mayConnect={mayConnect} />

  function submit(event: FormEvent) {
    event.preventDefault()
    if (connect.isPending) return
    if (values.tokenId === '' || values.identifier === '') {
      draft.setError(new Error('Select a connection and a repository.'))
      return
    }
    draft.setError(null)
    onPending(true)
    connect.mutate(connectedModule(values), {
      onSettled: () => onPending(false),
      onError: draft.setError,
      onSuccess: ({ data: { attributes } }) => {
        toast({ text: `Module ${attributes.name} created` })
        onPublished({ name: attributes.name, provider: attributes.provider, version: undefined })
      },
    })
  }
  return (
    <form id={id} onSubmit={submit} className="space-y-4">
      <RepositoryChoice draft={draft} connections={connections} hasBranch={false} />
      <RadioField
        label="Versions"
        name="mechanism"
        value={values.mechanism}
        onChange={(mechanism) => draft.set({ mechanism })}
        options={[
          { value: 'tags', text: 'Tags', about: 'Each tag such as v1.2.0 is a version, also those that exist.' },
          { value: 'branch', text: 'Branch', about: 'You publish commits of a branch as versions.' },
        ]}
      />
      {isByTags ? (
        <TextField
          label="Tag prefix (optional)"
          placeholder="network-"
          hint="For a repository with several modules: only tags with this prefix, such as network-v1.2.0."
          {...draft.text('tagPrefix')}
          error={errorAt(draft.error, `${AT}/tag-prefix`)}
          {...CODE_INPUT}
        />
      ) : (
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Branch"
            placeholder="main"
            {...draft.text('branch')}
            error={errorAt(draft.error, `${AT}/branch`)}
            {...CODE_INPUT}
          />
          <TextField
            label="First version"
            placeholder="1.0.0"
            {...draft.text('version', 'initial-version')}
            {...CODE_INPUT}
          />
        </div>
      )}
      <DirectoryField
        organization={organization}
        draft={draft}
        label="Directory (optional)"
        hint="The directory of the module; the root of the repository by default."
      />
      <FieldAlert text={errorAt(draft.error, `${AT}/source-directory`)} />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="Name (optional)"
          hint="By default that of a repository named terraform-<provider>-<name>."
          {...draft.text('name')}
          error={fieldError(draft.error, 'name')}
          {...CODE_INPUT}
        />
        <TextField
          label="Provider (optional)"
          {...draft.text('provider')}
          error={fieldError(draft.error, 'provider')}
          {...CODE_INPUT}
        />
      </div>
      <FormErrors error={draft.error} names={['name', 'provider', 'initial-version', REPOSITORY_POINTER]} />
    </form>
  )
}

function connectedModule(values: Values): ConnectedModule {
  const { tokenId, identifier, mechanism, tagPrefix, branch, directory, version, name, provider } = values
  const isByTags = mechanism === 'tags'
  return {
    ...(name.trim() !== '' && { name: name.trim() }),
    ...(provider.trim() !== '' && { provider: provider.trim() }),
    ...(!isByTags && version.trim() !== '' && { 'initial-version': version.trim() }),
    'vcs-repo': {
      identifier,
      'display-identifier': identifier,
      [isInstallation(tokenId) ? 'github-app-installation-id' : 'oauth-token-id']: tokenId,
      tags: isByTags,
      ...(!isByTags && { branch: branch.trim() }),
      ...(isByTags && tagPrefix.trim() !== '' && { 'tag-prefix': tagPrefix.trim() }),
      ...(directory.trim() !== '' && { 'source-directory': directory.trim() }),
    },
  }
}
