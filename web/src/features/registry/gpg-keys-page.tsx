import { getRouteApi } from '@tanstack/react-router'
import { KeyRound, Plus, Trash2 } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, loaded } from '../../components/feedback.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { CODE_INPUT, FormErrors, TextArea, fieldError, formValues } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { type GpgKey, deleteGpgKey, useAddGpgKey, useGpgKeys } from './gpg-keys.ts'

const route = getRouteApi('/frame/app/$organization/settings/gpg-keys')

/** The public keys that verify the signatures of an organization's providers. */
export function GpgKeysPage() {
  const { organization } = route.useParams()
  const { new: isNew = false, page } = route.useSearch()
  const navigate = route.useNavigate()
  const mayManage = useOrganizationPermissions(organization)?.['can-create-provider'] === true
  const { data, fallback } = loaded(useGpgKeys(organization, page), { label: 'Loading the GPG keys' })
  const setNew = (open: boolean) =>
    void navigate({ search: (before) => ({ ...before, new: open || undefined }), replace: true })
  const create = mayManage && <Button label="Add GPG key" icon={Plus} kind="primary" onClick={() => setNew(true)} />
  const actions: readonly Column<GpgKey>[] = mayManage
    ? [
        {
          header: 'Actions',
          isHeaderHidden: true,
          className: 'w-px text-right',
          cell: (key) => <KeyMenu organization={organization} gpgKey={key} />,
        },
      ]
    : []
  return (
    <Page
      title="GPG keys"
      about="Public keys with which engines verify the providers of this organization."
      actions={create}
    >
      {!data && fallback}
      {data?.data.length === 0 && (
        <EmptyState icon={KeyRound} title="No GPG keys yet" actions={create}>
          <p>
            Needed only to publish providers: the signature of a version is checked with one of these keys.{' '}
            <DocsLink page="registry">Publish modules and providers</DocsLink>
          </p>
        </EmptyState>
      )}
      {data && data.data.length > 0 && (
        <Table label={`GPG keys of ${organization}`} rows={data.data} columns={[...COLUMNS, ...actions]} />
      )}
      <Pager
        pagination={data?.meta.pagination}
        onPage={(number) => void navigate({ search: { page: number === 1 ? undefined : number } })}
      />
      {mayManage && isNew && <AddDialog organization={organization} onClose={() => setNew(false)} />}
    </Page>
  )
}

const COLUMNS: readonly Column<GpgKey>[] = [
  { header: 'Key ID', cell: ({ attributes }) => <code className="font-medium">{attributes['key-id']}</code> },
  { header: 'User', cell: ({ attributes }) => attributes['user-ids'].join(', ') },
  {
    header: 'Expires',
    className: 'hidden sm:table-cell',
    cell: ({ attributes: { 'expires-at': at } }) =>
      at === null ? <span className="text-dim">never</span> : <RelativeTime at={at} />,
  },
  {
    header: 'Added',
    className: 'hidden sm:table-cell',
    cell: ({ attributes }) => <RelativeTime at={attributes['created-at']} />,
  },
]

function KeyMenu({ organization, gpgKey }: { organization: string; gpgKey: GpgKey }) {
  const id = gpgKey.attributes['key-id']
  return (
    <RowMenu
      label={`Actions for ${id}`}
      actions={[
        {
          text: 'Delete',
          icon: Trash2,
          confirm: {
            title: `Delete the key ${id}?`,
            consequence: 'A key that has signed a version of a provider can’t be deleted before that version.',
            action: 'Delete key',
            done: `GPG key ${id} deleted`,
            onConfirm: async () => deleteGpgKey(organization, id),
          },
        },
      ]}
    />
  )
}

function AddDialog({ organization, onClose }: { organization: string; onClose: () => void }) {
  const add = useAddGpgKey(organization)
  function submit(form: HTMLFormElement) {
    const { armor = '' } = formValues(form)
    add.mutate(armor, {
      onSuccess: () => {
        toast({ text: 'GPG key added' })
        onClose()
      },
    })
  }
  return (
    <FormDialog
      title="Add a GPG key"
      about="The public key: gpg --armor --export <key id>"
      action="Add GPG key"
      isPending={add.isPending}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextArea
        label="Public key"
        name="armor"
        rows={10}
        className="font-mono"
        placeholder="-----BEGIN PGP PUBLIC KEY BLOCK-----"
        error={fieldError(add.error, 'ascii-armor')}
        autoFocus
        {...CODE_INPUT}
      />
      <FormErrors error={add.error} names={['ascii-armor']} />
    </FormDialog>
  )
}
