import { getRouteApi } from '@tanstack/react-router'
import { KeyRound, Pencil, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { EmptyState, loaded } from '../../components/feedback.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { CODE_INPUT, FormErrors, TextArea, TextField, fieldError, formValues } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { Table } from '../../components/table.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { type SshKey, deleteSshKey, useSaveSshKey, useSshKeys } from './ssh-keys.ts'

const route = getRouteApi('/frame/app/$organization/settings/ssh-keys')

/** The SSH keys of an organization, which workspaces use to fetch modules. */
export function SshKeysPage() {
  const { organization } = route.useParams()
  const { new: isNew = false, page } = route.useSearch()
  const navigate = route.useNavigate()
  const [edited, setEdited] = useState<SshKey>()
  const mayManage = useOrganizationPermissions(organization)?.['can-update-ssh-keys'] === true
  const { data, fallback } = loaded(useSshKeys(organization, page), { label: 'Loading the SSH keys' })
  const setNew = (open: boolean) =>
    void navigate({ search: (before) => ({ ...before, new: open || undefined }), replace: true })
  const create = mayManage && <Button label="New SSH key" icon={Plus} kind="primary" onClick={() => setNew(true)} />
  return (
    <Page
      title="SSH keys"
      about="Private keys with which runs fetch modules through ssh. A workspace selects one in its settings, under Repository."
      actions={
        <>
          <CopyCurl path={`/organizations/${organization}/ssh-keys`} />
          {create}
        </>
      }
    >
      {!data && fallback}
      {data?.data.length === 0 && (
        <EmptyState icon={KeyRound} title="No SSH keys yet" actions={create}>
          <p>
            Needed only for modules whose source is a private repository that is reached through ssh. A key is on an
            agent only during a run, and can never be read again.
          </p>
        </EmptyState>
      )}
      {data && data.data.length > 0 && (
        <Table
          label={`SSH keys of ${organization}`}
          rows={data.data}
          columns={[
            { header: 'Name', cell: ({ attributes }) => <span className="font-medium">{attributes.name}</span> },
            {
              header: 'ID',
              className: 'hidden sm:table-cell',
              cell: ({ id }) => <code className="text-dim">{id}</code>,
            },
            ...(mayManage
              ? [
                  {
                    header: 'Actions',
                    isHeaderHidden: true,
                    className: 'w-px text-right',
                    cell: (key: SshKey) => (
                      <KeyMenu organization={organization} sshKey={key} onEdit={() => setEdited(key)} />
                    ),
                  },
                ]
              : []),
          ]}
        />
      )}
      <Pager
        pagination={data?.meta.pagination}
        onPage={(number) => void navigate({ search: { page: number === 1 ? undefined : number } })}
      />
      {mayManage && isNew && <KeyDialog organization={organization} onClose={() => setNew(false)} />}
      {mayManage && edited && (
        <KeyDialog organization={organization} sshKey={edited} onClose={() => setEdited(undefined)} />
      )}
    </Page>
  )
}

function KeyMenu({ organization, sshKey, onEdit }: { organization: string; sshKey: SshKey; onEdit: () => void }) {
  const { name } = sshKey.attributes
  return (
    <RowMenu
      label={`Actions for ${name}`}
      actions={[
        { text: 'Rename or replace', icon: Pencil, onSelect: onEdit },
        {
          text: 'Delete',
          icon: Trash2,
          confirm: {
            title: `Delete ${name}?`,
            consequence: 'Workspaces that use it lose it: their runs can no longer fetch modules with it.',
            action: `Delete ${name}`,
            done: `SSH key ${name} deleted`,
            onConfirm: async () => deleteSshKey(organization, sshKey.id),
          },
        },
      ]}
    />
  )
}

/** A new key, or another name or value for one. */
function KeyDialog({ organization, sshKey, onClose }: { organization: string; sshKey?: SshKey; onClose: () => void }) {
  const save = useSaveSshKey(organization, sshKey?.id)
  const isNew = sshKey === undefined
  function submit(form: HTMLFormElement) {
    const { name = '', value = '' } = formValues(form)
    const attributes = { name: name.trim(), ...((isNew || value.trim() !== '') && { value }) }
    save.mutate(attributes, {
      onSuccess: () => {
        toast({ text: isNew ? `SSH key ${name} created` : `SSH key ${name} saved` })
        onClose()
      },
    })
  }
  return (
    <FormDialog
      title={isNew ? 'New SSH key' : `Change ${sshKey.attributes.name}`}
      about="The key can’t be shown again."
      action={isNew ? 'Create SSH key' : 'Save'}
      isPending={save.isPending}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label="Name"
        name="name"
        defaultValue={sshKey?.attributes.name ?? ''}
        placeholder="modules"
        error={fieldError(save.error, 'name')}
        autoFocus
        autoComplete="off"
      />
      <TextArea
        label={isNew ? 'Private key' : 'New private key'}
        name="value"
        rows={8}
        className="font-mono"
        placeholder={isNew ? '-----BEGIN OPENSSH PRIVATE KEY-----' : 'Unchanged'}
        hint="In OpenSSH or PEM format, without a passphrase."
        error={fieldError(save.error, 'value')}
        {...CODE_INPUT}
      />
      <FormErrors error={save.error} names={['name', 'value']} />
    </FormDialog>
  )
}
