import { useState } from 'react'
import { FormDialog } from '../../components/form-dialog.tsx'
import { CheckField, FormErrors, RadioField, TextArea, TextField, fieldError } from '../../components/form.tsx'
import { FieldAlert } from '../../components/inline-form.tsx'
import { useGo, useLeaveDialog } from '../../components/links.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { useDraft } from '../../components/settings-form.tsx'
import { useUsableConnections } from '../connections/connections.ts'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { NoConnections, REPOSITORY_POINTER, RepositoryChoice } from '../workspace-repository/repository-fields.tsx'
import { NO_REPOSITORY, repositoryProblem, vcsRepo } from '../workspace-repository/repository-form.ts'
import { useCreatePolicySet } from './policy-sets.ts'

const SOURCES = {
  upload: {
    text: 'Upload',
    about: 'A folder or an archive with policies.hcl; each upload is a version.',
    tab: 'versions',
  },
  repository: { text: 'Repository', about: 'Pushes to its branch make versions.', tab: 'versions' },
  policies: { text: 'Single policies', about: 'Policies that are written here and added one by one.', tab: 'policies' },
} as const
type Source = keyof typeof SOURCES

type NewSetDialogProps = { organization: string; onClose: () => void }

export default function NewSetDialog({ organization, onClose }: NewSetDialogProps) {
  const go = useGo()
  const leave = useLeaveDialog(onClose)
  const create = useCreatePolicySet(organization)
  const { data: connections } = useUsableConnections(organization, undefined)
  const mayConnect = useOrganizationPermissions(organization)?.['can-update-oauth'] === true
  const [source, setSource] = useState<Source>('upload')
  const [problem, setProblem] = useState<string>()
  const repository = useDraft(NO_REPOSITORY)
  const { values, set, text, check } = useDraft({
    name: '',
    description: '',
    path: '',
    scope: 'selected',
    overridable: true,
  })
  const isRepository = source === 'repository'
  const error = create.error

  function submit() {
    const found = isRepository ? repositoryProblem(repository.values) : undefined
    setProblem(found)
    if (found !== undefined) return
    const { name, description, path, scope, overridable } = values
    create.mutate(
      {
        name,
        description,
        kind: 'opa',
        overridable,
        global: scope === 'global',
        ...(path.trim() !== '' && { 'policies-path': path.trim() }),
        ...(isRepository && { 'vcs-repo': vcsRepo(repository.values) }),
      },
      {
        onSuccess: ({ data: { id } }) => {
          toast({ text: `${name} created` })
          leave()
          const { tab } = SOURCES[source]
          go({
            to: '/app/$organization/policy-sets/$set',
            params: { organization, set: id },
            search: tab === 'policies' ? {} : { tab },
          })
        },
      },
    )
  }
  return (
    <FormDialog
      title="New policy set"
      action="Create policy set"
      isPending={create.isPending}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label="Name"
        {...text('name')}
        error={fieldError(error, 'name')}
        required
        maxLength={255}
        autoFocus
        autoComplete="off"
      />
      <TextArea
        label="Description (optional)"
        rows={2}
        {...text('description')}
        error={fieldError(error, 'description')}
      />
      <RadioField
        label="Source of the policies"
        name="source"
        value={source}
        onChange={(value) => setSource(value as Source)}
        options={Object.entries(SOURCES).map(([value, option]) => ({ value, ...option }))}
      />
      {isRepository &&
        (connections?.length === 0 ? (
          <NoConnections mayConnect={mayConnect} />
        ) : (
          <>
            <RepositoryChoice draft={{ ...repository, error }} connections={connections ?? []} />
            <FieldAlert text={problem && `Please ${problem}.`} />
          </>
        ))}
      {source !== 'policies' && (
        <TextField
          label="Directory (optional)"
          hint="The directory of policies.hcl; the root if empty."
          {...text('path')}
          error={fieldError(error, 'policies-path')}
          autoComplete="off"
        />
      )}
      <RadioField
        label="Applies to"
        name="scope"
        value={values.scope}
        onChange={(scope) => set({ scope })}
        options={SCOPE_OPTIONS}
      />
      <CheckField label="Can be overridden" hint={OVERRIDABLE_HINT} {...check('overridable')} />
      <FormErrors
        error={error}
        names={['name', 'description', 'policies-path', ...(isRepository ? [REPOSITORY_POINTER] : [])]}
      />
    </FormDialog>
  )
}

export const OVERRIDABLE_HINT =
  'Users with permission to override policies may let a run continue although a mandatory policy failed.'

export const SCOPE_OPTIONS = [
  { value: 'global', text: 'All workspaces', about: 'Every workspace that is not excluded, including new ones.' },
  { value: 'selected', text: 'Selected', about: 'Workspaces, projects and tags that you select.' },
]
