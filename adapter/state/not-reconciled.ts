/** The lock that is a lasting mark and not held by anybody: files may still be adopted. It goes into snapshots. */
export const NOT_RECONCILED = 'unreconciled';
