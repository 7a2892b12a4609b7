"""Public keyphrase sets on the model hub and elsewhere: where they are, and whom to cite."""

from dataclasses import dataclass

_HULTH = "Hulth (2003). Improved automatic keyword extraction given more linguistic knowledge. EMNLP."
_KRAPIVIN = "Krapivin, Autaeu and Marchese (2009). Large dataset for keyphrases extraction. University of Trento."
_NGUYEN = "Nguyen and Kan (2007). Keyphrase extraction in scientific publications. ICADL."
_KIM = "Kim, Medelyan, Kan and Baldwin (2010). SemEval-2010 task 5: automatic keyphrase extraction. SemEval."
_MENG = "Meng, Zhao, Han, He, Brusilovsky and Chi (2017). Deep keyphrase generation. ACL."
_GALLINA = "Gallina, Boudin and Daille (2019). KPTimes: a large-scale dataset for keyphrase generation. INLG."
_XIONG = "Xiong et al. (2019). Open domain web keyphrase extraction beyond language modeling. EMNLP."
_YUAN = "Yuan et al. (2020). One size does not fit all: generating and evaluating variable number of keyphrases. ACL."
_BOUDIN = "Boudin (2021). ACM-CR: a manually annotated test collection for citation recommendation. JCDL."


@dataclass(frozen=True, slots=True)
class PublicSet:
    """A set of documents with keyphrases on the hub; the hub itself tells its size and licence.

    Attributes:
        name: Name of the set for ``simckp data fetch``.
        repository: Id of the data set repository on the hub.
        folder: Folder in the repository; empty for its root.
        citation: Whom to cite for the documents.
    """

    name: str
    repository: str
    folder: str
    citation: str

    @property
    def place(self) -> str:
        """Where the set is, for readers."""
        return f"{self.repository}/{self.folder}".rstrip("/")


@dataclass(frozen=True, kw_only=True, slots=True)
class PublicArchive:
    """A set of BibTeX files in a Git repository, at one commit, which a server packs into an archive.

    Attributes:
        name: Name of the set for ``simckp data fetch``.
        repository: The repository, for readers.
        folder: Folder in the repository; each ``.bib`` file in it and below belongs to the set.
        address: Address of a ``.tar.gz`` of the repository at the commit.
        revision: The commit.
        tree: Git's id of the folder at this commit (``git rev-parse <commit>:<folder>``); it is a checksum of all
            names and contents. The archive itself has none: the server may pack it in another way tomorrow.
        size: About how much is to be downloaded.
        licence: What the repository says.
        citation: Whom to cite for the documents.
    """

    name: str
    repository: str
    folder: str
    address: str
    revision: str
    tree: str
    size: str
    licence: str
    citation: str

    @property
    def place(self) -> str:
        """Where the set is, for readers."""
        return f"{self.repository}/{self.folder}"


_ACM_CR = "0e65d68f5caae0eb902f4a3881575fd37fdb53e8"
_MEMRAY, _TALN, _MIDAS = "memray/keyphrase", "taln-ls2n", "midas"
PUBLIC_SETS: dict[str, PublicSet | PublicArchive] = {
    entry.name: entry
    for entry in (
        PublicSet("kp20k", _MEMRAY, "kp20k", _MENG),
        PublicSet("inspec", _MEMRAY, "inspec", _HULTH),
        PublicSet("krapivin", _MEMRAY, "krapivin", _KRAPIVIN),
        PublicSet("nus", _MEMRAY, "nus", _NGUYEN),
        PublicSet("semeval", _MEMRAY, "semeval", _KIM),
        PublicSet("kptimes", _MEMRAY, "kptimes", _GALLINA),
        PublicSet("openkp", _MEMRAY, "openkp", _XIONG),
        PublicSet("stackexchange", _MEMRAY, "stackex", _YUAN),
        PublicSet("kp20k-taln", f"{_TALN}/kp20k", "", _MENG),
        PublicSet("inspec-taln", f"{_TALN}/inspec", "", _HULTH),
        PublicSet("semeval-taln", f"{_TALN}/semeval-2010-pre", "", _KIM),
        PublicSet("inspec-midas", f"{_MIDAS}/inspec", "", _HULTH),
        PublicSet("krapivin-midas", f"{_MIDAS}/krapivin", "", _KRAPIVIN),
        PublicSet("semeval-midas", f"{_MIDAS}/semeval2010", "", _KIM),
        PublicArchive(
            name="acm-cr",
            repository="github.com/boudinfl/acm-cr",
            folder="data/acm-dl",
            address=f"https://codeload.github.com/boudinfl/acm-cr/tar.gz/{_ACM_CR}",
            revision=_ACM_CR,
            tree="ce5e25f7d8f2d592070bed55ab509f669981f04a",
            size="about 120 MB; 180 MB on the disk",
            licence="Unlicense for the repository; it does not state one for the abstracts",
            citation=_BOUDIN,
        ),
    )
}
