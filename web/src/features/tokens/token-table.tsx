import { RefreshCw, Trash2 } from 'lucide-react'
import { useMemo } from 'react'
import { RowMenu } from '../../components/row-menu.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { Expiry, LastUsed } from './token-parts.tsx'
import { type Token, type TokenRow, revokeToken } from './tokens.ts'

type TokenTableProps = {
  label: string
  rows: readonly TokenRow[]
  /** A column before that of the creator. */
  team?: Column<TokenRow>
  onRotate?: (token: Token) => void
}

export function TokenTable({ label, rows, team, onRotate }: TokenTableProps) {
  const columns = useMemo<readonly Column<TokenRow>[]>(
    () => [
      {
        header: 'Description',
        cell: ({ id, attributes }) => <span className="font-medium wrap-anywhere">{attributes.description || id}</span>,
      },
      ...(team ? [team] : []),
      {
        header: 'Created',
        className: 'hidden sm:table-cell',
        cell: ({ creator, attributes }) => (
          <>
            <RelativeTime at={attributes['created-at']} />
            {creator !== undefined && <span className="block text-dim">by {creator}</span>}
          </>
        ),
      },
      {
        header: 'Last used',
        className: 'hidden sm:table-cell',
        cell: ({ attributes }) => <LastUsed at={attributes['last-used-at']} />,
      },
      { header: 'Expires', cell: ({ attributes }) => <Expiry at={attributes['expired-at']} /> },
      {
        header: 'Actions',
        isHeaderHidden: true,
        className: 'text-right',
        cell: (token) => {
          const name = token.attributes.description || token.id
          return (
            <RowMenu
              label={`Actions for ${name}`}
              actions={[
                onRotate && { text: 'Rotate', icon: RefreshCw, onSelect: () => onRotate(token) },
                {
                  text: 'Revoke',
                  icon: Trash2,
                  confirm: {
                    title: `Revoke “${name}”?`,
                    consequence: 'Everything that uses it stops working immediately.',
                    action: 'Revoke token',
                    done: 'Token revoked',
                    onConfirm: async () => revokeToken(token.id),
                  },
                },
              ]}
            />
          )
        },
      },
    ],
    [team, onRotate],
  )
  return <Table label={label} columns={columns} rows={rows} />
}
