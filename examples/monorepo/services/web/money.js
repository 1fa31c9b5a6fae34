// euros shows cents as people read them.
export const euros = (cents) => `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")} €`;
