import type { ButtonHTMLAttributes } from 'react'

const KINDS = {
  primary: 'bg-indigo-600 text-white hover:bg-indigo-700',
  plain:
    'border border-slate-300 bg-white hover:bg-slate-100 dark:border-slate-700 dark:bg-slate-900 dark:hover:bg-slate-800',
  danger:
    'border border-red-300 text-red-700 hover:bg-red-50 dark:border-red-900 dark:text-red-300 dark:hover:bg-red-950',
} as const

export function Button({
  kind = 'plain',
  className = '',
  ...props
}: ButtonHTMLAttributes<HTMLButtonElement> & { kind?: keyof typeof KINDS }) {
  return (
    <button
      type="button"
      className={`cursor-pointer rounded-md px-3 py-1.5 text-sm font-medium disabled:cursor-not-allowed disabled:opacity-50 ${KINDS[kind]} ${className}`}
      {...props}
    />
  )
}
