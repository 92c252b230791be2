export const kingfisher = { level: 1.42, note: "über Nacht" };
